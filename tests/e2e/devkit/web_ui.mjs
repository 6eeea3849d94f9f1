// The DevKit's own web UI, already started, shows a run that waits for its webhook and acts on
// runs, and is not mistaken for an application although it listens.
// Usage: node web_ui.mjs URL RUN ROUTES     (the number of the application's routes that take
// messages)

import { createRequire } from 'node:module';
import path from 'node:path';

const [url, runId, routes] = process.argv.slice(2);
const { decode } = createRequire(path.join(process.cwd(), 'x.js'))('cbor-x');
let failed = false;
const expect = (sentence, holds, more) => {
  console.log(`${holds ? 'ok' : 'not ok'} - ${sentence}`);
  if (!holds) console.log(`#   ${JSON.stringify(more)?.slice(0, 300)}`);
  failed ||= !holds;
};
async function call(method, params = {}) {
  const response = await fetch(`${url}/api/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ method, params }),
  });
  const answer = decode(new Uint8Array(await response.arrayBuffer()));
  if (!answer.success) throw new Error(`${method}: ${JSON.stringify(answer)}`);
  return answer.data;
}
async function until(make, holds) {
  for (let i = 0; ; ++i) {
    const value = await make();
    if (holds(value) || i === 100) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
const eventsOf = async (id) => (await call('fetchEvents', { runId: id, params: { limit: 1000 } })).data;
const types = async (id) => (await eventsOf(id)).map((event) => event.eventType);

for (const page of ['/', `/run/${runId}`]) {
  const response = await fetch(url + page);
  const text = await response.text();
  expect(`the web UI has the page ${page.split('/')[1] || 'of runs'}`, response.ok && text.includes('<html'), text);
}
const runs = await call('fetchRuns', { params: { limit: 10 } });
const listed = runs.data.find((run) => run.runId === runId);
expect('it lists the run', listed?.status === 'running', runs);
const run = await call('fetchRun', { runId });
expect('it shows the run with its input', run.input?.length > 0, run);
const events = await types(runId);
expect('it shows the events of the run', events[0] === 'run_created' && events.includes('hook_created'), events);
const created = (await eventsOf(runId)).filter((event) => event.eventType === 'step_created');
const steps = await Promise.all(created.map((event) => call('fetchStep', { runId, stepId: event.correlationId })));
expect('it shows the steps of the run', steps.length === 6 && steps.every((step) => step.status === 'completed'), steps);
const hooks = await call('fetchHooks', { params: { runId } });
expect('it shows the hook of the run', hooks.data.length === 1, hooks);
const streams = await call('fetchStreams', { runId });
expect('it shows the stream of the run', streams.length === 1, streams);

const again = await call('recreateRun', { runId });
const waits = await until(() => types(again), (all) => all.includes('hook_created'));
expect('it starts the workflow again, and the application runs it', waits.includes('hook_created'), waits);
await call('reenqueueRun', { runId: again });
for (const endpoint of ['workflow', 'step'].slice(0, Number(routes))) {
  const health = await call('runHealthCheck', { endpoint, options: { timeout: 5000 } });
  expect(`it reaches the application's ${endpoint} route`, health.healthy === true, health);
}
await call('cancelRun', { runId: again });
const ended = await call('fetchRun', { runId: again });
expect('it cancels a run', ended.status === 'cancelled', ended);
process.exit(failed ? 1 : 0);
