// The workload on Everstep: a worker (docs/workers.md) whose handler executes the steps of the plans. Two
// polls are in flight: the server answers one as soon as it has tasks, and the reports on them go out with
// the next.
import http from "node:http";

const server = process.argv[2];
const slots = 512;
const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });

function post(target, value) {
  const body = JSON.stringify(value);
  return new Promise((done, failed) => {
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const request = http.request(server + target, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => (text += piece));
      response.on("end", () =>
        response.statusCode < 300 ? done(JSON.parse(text)) : failed(new Error(`${target}: ${response.statusCode} ${text}`)));
    });
    request.on("error", failed);
    request.end(body);
  });
}

const handler = async () => 1;

const { workerId } = await post("/v1/workers", { name: "bench", kinds: ["bench.work"], slots });
async function work() {
  for (let reports = []; ; ) {
    const { tasks } = await post(`/v1/workers/${workerId}/poll`, { reports, max: slots / 2, waitMs: 30_000 });
    reports = await Promise.all(tasks.map(async (task) => ({ token: task.token, result: await handler(task) })));
  }
}
console.log("ready");
await Promise.all([work(), work()]);
