// Runs the same workload on Everstep, Restate and DBOS, one after another on this machine: runs of one and
// of ten trivial durable steps. The client is the same for all, `everstep bench load`; each run is one
// request, which is answered when the run has ended.
// Usage: node peers.mjs EVERSTEP [--seconds N] [--only NAME]
import { execFile, execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const everstep = process.argv[2];
const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : process.argv[at + 1];
};
const seconds = Number(option("seconds", 5));
const only = option("only", "");
const ticks = Number(execFileSync("getconf", ["CLK_TCK"]).toString());
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "everstep-peers-"));
fs.chmodSync(scratch, 0o755);
const children = [];

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

function freePort() {
  return new Promise((done) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function start(program, args, env = {}, more = {}) {
  const log = fs.openSync(path.join(scratch, `${path.basename(program)}-${children.length}.log`), "w");
  const child = spawn(program, args, { stdio: ["ignore", log, log], env: { ...process.env, ...env }, ...more });
  children.push(child);
  return child;
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(timer);
}

// User and system time of the processes and all their descendants, in seconds.
function cpuOf(...roots) {
  const wanted = new Set(roots);
  const all = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
  const rows = [];
  for (const pid of all) {
    try {
      const text = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      rows.push({ pid, parent: Number(fields[1]), cpu: (Number(fields[11]) + Number(fields[12])) / ticks });
    } catch {
      // The process has just ended.
    }
  }
  for (let grew = true; grew; ) {
    grew = false;
    for (const row of rows) {
      if (wanted.has(row.parent) && !wanted.has(row.pid)) {
        wanted.add(row.pid);
        grew = true;
      }
    }
  }
  return rows.filter((row) => wanted.has(row.pid)).reduce((sum, row) => sum + row.cpu, 0);
}

function call(port, method, target, body) {
  return new Promise((done, failed) => {
    const headers = body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const request = http.request({ host: "127.0.0.1", port, method, path: target, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece) => (text += piece));
      response.on("end", () =>
        response.statusCode < 300 ? done(text) : failed(new Error(`${target}: ${response.statusCode} ${text}`)));
    });
    request.on("error", failed);
    request.end(body);
  });
}

async function untilReady(look) {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await pause(100);
    }
  }
}

// ---- the engines: start, the request of a run, the processes that count as server and as worker, stop

async function startEverstep(startWorker) {
  const port = await freePort();
  const data = path.join(scratch, `everstep-${children.length}`);
  const server = start(everstep, ["serve", "--dev", "--data", data, "--listen", `127.0.0.1:${port}`]);
  await untilReady(() => call(port, "GET", "/readyz"));
  for (const steps of [1, 10]) {
    const plan = {
      metadata: { planId: `bench${steps}`, planVersion: "1" },
      steps: Array.from({ length: steps }, (_, i) => ({ stepId: `s${i}`, kind: "bench.work" })),
    };
    await call(port, "POST", "/v1/plans", JSON.stringify(plan));
  }
  const worker = startWorker(`http://127.0.0.1:${port}`);
  const request = (steps) => ({
    port,
    target: "/v1/runs?wait=60s",
    body: JSON.stringify({ planId: `bench${steps}`, planVersion: "1" }),
    expect: '"status":"COMPLETED"',
  });
  return { request, server: () => cpuOf(server.pid), worker: () => cpuOf(worker.pid), stop: async () => { await stop(worker); await stop(server); } };
}
const ownWorker = (url) => start(everstep, ["bench", "serve", "--as-worker", url]);
const nodeWorker = (url) => start(process.execPath, [path.join(here, "everstep_worker.mjs"), url]);

async function startRestate(partitions) {
  const [ingress, admin, fabric, endpoint] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const base = path.join(scratch, `restate-${partitions ?? "default"}`);
  const worker = start(process.execPath, [path.join(here, "restate_worker.mjs"), String(endpoint)], { RESTATE_LOGGING: "ERROR" });
  const binary = path.join(here, "node_modules/.bin/restate-server");
  const env = {
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${fabric}`,
    RESTATE_LOG_FILTER: "warn",
    DO_NOT_TRACK: "1",
    ...(partitions === undefined ? {} : { RESTATE_DEFAULT_NUM_PARTITIONS: String(partitions) }),
  };
  const server = start(binary, ["--node-name=bench", `--base-dir=${base}`], env, { detached: true });
  await untilReady(() => call(admin, "GET", "/health"));
  await untilReady(() => call(admin, "POST", "/deployments", JSON.stringify({ uri: `http://127.0.0.1:${endpoint}` })));
  const request = (steps) => ({ port: ingress, target: steps === 10 ? "/bench/ten" : "/bench/one", body: "{}", expect: String(steps) });
  const stopAll = async () => {
    // The npm package starts the server as a child of a wrapper process.
    try { process.kill(-server.pid, "SIGTERM"); } catch { /* it has ended */ }
    await stop(server);
    await stop(worker);
  };
  return { request, server: () => cpuOf(server.pid), worker: () => cpuOf(worker.pid), stop: stopAll };
}

async function startDbos() {
  const [port, database] = await Promise.all([freePort(), freePort()]);
  const versions = fs.readdirSync("/usr/lib/postgresql").sort((a, b) => Number(b) - Number(a));
  const bin = path.join("/usr/lib/postgresql", versions[0], "bin");
  const data = path.join(scratch, "postgres");
  fs.mkdirSync(data);
  const asUser = process.getuid() === 0 ? { uid: Number(execFileSync("id", ["-u", "postgres"])), gid: Number(execFileSync("id", ["-g", "postgres"])) } : {};
  if (asUser.uid !== undefined) fs.chownSync(data, asUser.uid, asUser.gid);
  execFileSync(path.join(bin, "initdb"), ["-D", data, "-A", "trust", "-U", "postgres"], { ...asUser, stdio: "ignore" });
  const server = start(path.join(bin, "postgres"), ["-D", data, "-p", String(database), "-c", "listen_addresses=127.0.0.1", "-k", data], {}, asUser);
  const createdb = () => execFileSync(path.join(bin, "createdb"), ["-h", "127.0.0.1", "-p", String(database), "-U", "postgres", "bench"], { stdio: "ignore" });
  await untilReady(async () => createdb());
  const url = `postgresql://postgres@127.0.0.1:${database}/bench`;
  const worker = start(process.execPath, [path.join(here, "dbos_worker.mjs"), String(port), url]);
  const request = (steps) => ({ port, target: steps === 10 ? "/ten" : "/one", body: "{}", expect: String(steps) });
  return { request, server: () => cpuOf(server.pid), worker: () => cpuOf(worker.pid), stop: async () => { await stop(worker); await stop(server); } };
}

// ---- measuring

// Sends the request of a run again and again; returns the figures by name.
function load(request, in_flight, duration) {
  const results = path.join(scratch, "load.json");
  fs.rmSync(results, { force: true });
  const url = `http://127.0.0.1:${request.port}${request.target}`;
  const args = ["bench", "load", url, "--body", request.body, "--expect", request.expect,
    "--in-flight", String(in_flight), "--duration", `${Math.round(duration * 1000)}ms`, "--json", results];
  return new Promise((done, failed) => {
    execFile(everstep, args, (error, _, text) => {
      if (error) return failed(new Error(text || error.message));
      done(Object.fromEntries(JSON.parse(fs.readFileSync(results, "utf8")).map((row) => [row.metric, row.value])));
    });
  });
}

async function measure(engine, steps, in_flight) {
  const before = { server: engine.server(), worker: engine.worker() };
  const sent = await load(engine.request(steps), in_flight, seconds);
  const all = sent.requests * steps;
  return {
    steps, in_flight,
    rate: sent.rate * steps,
    p50: sent.p50,
    p99: sent.p99,
    client: sent["client CPU"] / steps,
    server: ((engine.server() - before.server) / all) * 1e6,
    worker: ((engine.worker() - before.worker) / all) * 1e6,
  };
}

const engines = [
  ["everstep", () => startEverstep(ownWorker), "its worker in C++; every event synced before it counts; auth off (--dev)"],
  ["everstep-js", () => startEverstep(nodeWorker), "the same with a worker on Node.js, as the others have"],
  ["restate-2", () => startRestate(2), "default-num-partitions=2; its log is synced (default)"],
  ["restate", () => startRestate(undefined), "its defaults; its log is synced (default)"],
  ["dbos", startDbos, "PostgreSQL with fsync=on, synchronous_commit=on (defaults)"],
];

const figure = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
const row = (...cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(12) : cell.padStart(11))).join(" ");

async function main() {
  const results = new Map();
  for (const [name, begin, durability] of engines) {
    if (only !== "" && only !== name) continue;
    console.log(`\n${name}: ${durability}`);
    console.log(row("", "steps/run", "in flight", "steps/s", "p50 ms", "p99 ms", "server µs", "worker µs", "client µs"));
    try {
      const engine = await begin();
      await untilReady(() => load(engine.request(10), 1, 0.1));
      await load(engine.request(10), 16, 2);
      const rows = [];
      for (const steps of [10, 1]) {
        for (const in_flight of [1, 16, 64]) {
          const r = await measure(engine, steps, in_flight);
          rows.push(r);
          console.log(row("", String(steps), String(in_flight), figure(r.rate), figure(r.p50), figure(r.p99), figure(r.server), figure(r.worker), figure(r.client)));
        }
      }
      results.set(name, rows);
      await engine.stop();
    } catch (error) {
      console.log(`  not measured: ${error.message}`);
    }
  }
  for (const [mine, ours] of results) {
    if (!mine.startsWith("everstep")) continue;
    console.log(`\n${mine} compared: factor of steps per second / factor of server CPU per step`);
    console.log(row("", ...ours.map((r) => `${r.steps}x${r.in_flight}`)));
    for (const [name, rows] of results) {
      if (name.startsWith("everstep")) continue;
      console.log(row(name, ...rows.map((r, i) => `${(ours[i].rate / r.rate).toFixed(1)} / ${(r.server / ours[i].server).toFixed(1)}`)));
    }
  }
}

let failed = false;
try {
  await main();
} catch (error) {
  console.error(error);
  failed = true;
}
for (const child of children) await stop(child);
fs.rmSync(scratch, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
