// The workload on DBOS, which is a library: this process starts a workflow for each request and
// responds when it has ended.
import http from "node:http";
import { DBOS } from "@dbos-inc/dbos-sdk";

const work = DBOS.registerWorkflow(
  async (steps) => {
    for (let i = 0; i < steps; i++) await DBOS.runStep(async () => 1, { name: `s${i}` });
    return steps;
  },
  { name: "work" },
);

DBOS.setConfig({ name: "bench", systemDatabaseUrl: process.argv[3], systemDatabasePoolSize: 20, logLevel: "error" });
await DBOS.launch();
http
  .createServer(async (request, response) => {
    const handle = await DBOS.startWorkflow(work)(request.url === "/ten" ? 10 : 1);
    response.end(String(await handle.getResult()));
  })
  .listen(Number(process.argv[2]), "127.0.0.1", () => console.log("ready"));
