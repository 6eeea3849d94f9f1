// An application and its server, killed at random under load (SIGKILL: one, the other, both). Every
// run that was acknowledged ends with the right result, and its log is whole.
// Usage: node chaos.mjs PROGRAM FOLDER [SECONDS [SEED]]

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';

const [program, folder, seconds = '20', seed = String(Date.now() % 1e6)] = process.argv.slice(2);
const require = createRequire(path.join(process.cwd(), 'x.js'));
const app = path.join(path.dirname(require.resolve('@workflow/world-testing')), 'server.mjs');
const { createWorld } = await import(require.resolve('@everstep/world'));

// The same seed, the same orders; when they fall is not for us to say.
let state = Number(seed) >>> 0;
const random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

let failures = 0;
function expect(sentence, faults) {
  console.log(`${faults.length ? 'not ok' : 'ok'} - ${sentence}`);
  for (const fault of faults.slice(0, 10)) console.log(`#   ${fault}`);
  failures += faults.length ? 1 : 0;
}

const ports = { server: await freePort(), app: await freePort() };
process.env.EVERSTEP_URL = `http://127.0.0.1:${ports.server}`;
const children = {};
const start = {
  server: () =>
    spawn(program, ['serve', '--dev', '--data', path.join(folder, 'data'), '--listen', `127.0.0.1:${ports.server}`], {
      stdio: 'ignore',
    }),
  app: () =>
    spawn(process.execPath, [app], {
      env: { ...process.env, PORT: String(ports.app), WORKFLOW_TARGET_WORLD: '@everstep/world' },
      // The application of the suite tells where it listens on a pipe of its own.
      stdio: ['ignore', 'ignore', 'ignore', 'ignore'],
    }),
};
const begin = (name) => (children[name] = start[name]());
const kill = async (name) => {
  const child = children[name];
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
};
process.on('exit', () => Object.values(children).forEach((child) => child.kill('SIGKILL')));

const WORKFLOWS = [
  { file: 'workflows/addition.ts', workflow: 'addition', args: [1, 2] },
  { file: 'workflows/noop.ts', workflow: 'brokenWf', args: [1, 2] },
  { file: 'workflows/inline-execution.ts', workflow: 'sequentialStepsWorkflow', args: [] },
  { file: 'workflows/inline-execution.ts', workflow: 'parallelStepsWorkflow', args: [] },
  { file: 'workflows/inline-execution.ts', workflow: 'sleepWorkflow', args: [] },
  { file: 'workflows/null-byte.ts', workflow: 'nullByteWorkflow', args: [] },
];
const runs = new Map(); // to the workflow
async function invoke() {
  const which = WORKFLOWS[Math.floor(random() * WORKFLOWS.length)];
  try {
    const response = await fetch(`http://127.0.0.1:${ports.app}/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(which),
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) return false;
    runs.set((await response.json()).runId, which.workflow);
    return true;
  } catch {
    return false; // Nobody was told that there is a run.
  }
}

begin('server');
begin('app');
const until = Date.now() + Number(seconds) * 1000;
let kills = 0;
const load = Promise.all(
  Array.from({ length: 8 }, async () => {
    while (Date.now() < until) if (!(await invoke())) await sleep(100);
  }),
);
while (Date.now() < until) {
  await sleep(400 + random() * 1600);
  const victims = [['app'], ['server'], ['app', 'server']][Math.floor(random() * 3)];
  await Promise.all(victims.map(kill));
  kills += 1;
  await sleep(random() * 400);
  victims.forEach(begin);
}
await load;

const world = createWorld();
const ENDS = new Set(['completed', 'failed', 'cancelled']);
const patience = Date.now() + 120_000;
const left = new Set(runs.keys());
while (left.size > 0 && Date.now() < patience) {
  for (const id of left) {
    const run = await world.runs.get(id, { resolveData: 'none' });
    if (ENDS.has(run.status)) left.delete(id);
  }
  await sleep(200);
}
expect(`${runs.size} runs were acknowledged while ${kills} times somebody was killed (seed ${seed})`,
       runs.size > 0 && kills > 0 ? [] : ['nothing happened']);
expect('every run has ended', await Promise.all([...left].map(async (id) => {
  const events = await world.events.list({ runId: id, pagination: { limit: 1000 } });
  return `${id} ${runs.get(id)}: ${events.data.map((event) => event.eventType).join(' ')}`;
})));

const wrong = [];
const torn = [];
const outputs = new Map(); // of each workflow, which are deterministic
for (const [id, workflow] of runs) {
  const run = await world.runs.get(id);
  if (run.status !== 'completed') {
    wrong.push(`${id} ${workflow} is ${run.status}`);
    continue;
  }
  const output = Buffer.from(run.output).toString('base64');
  if (!outputs.has(workflow)) outputs.set(workflow, output);
  // Numbers of the steps are random in one of them.
  if (workflow === 'addition' && outputs.get(workflow) !== output) wrong.push(`${id}: another sum`);
  const { data, hasMore } = await world.events.list({ runId: id, pagination: { limit: 1000, sortOrder: 'asc' } });
  const once = new Set();
  const open = new Map(); // steps, hooks and waits, to what was said of them last
  let last = '';
  for (const event of data) {
    if (event.eventId <= last) torn.push(`${id}: ${event.eventId} behind ${last}`);
    last = event.eventId;
    const type = event.eventType;
    const key = `${type} ${event.correlationId ?? ''}`;
    const repeats = type === 'step_started' || type === 'step_retrying' || type === 'hook_received';
    if (!repeats && once.has(key)) torn.push(`${id}: ${key} twice`);
    once.add(key);
    if (!event.correlationId) continue;
    const before = open.get(event.correlationId);
    const opens = type.endsWith('_created');
    if (opens === (before !== undefined)) torn.push(`${id}: ${key} after ${before ?? 'nothing'}`);
    if (before === 'step_completed' || before === 'wait_completed') torn.push(`${id}: ${key} after its end`);
    open.set(event.correlationId, type);
  }
  for (const [entity, type] of open) {
    if (entity.startsWith('step_') && type !== 'step_completed') torn.push(`${id}: ${entity} ends with ${type}`);
  }
  if (hasMore || data.at(-1).eventType !== 'run_completed') torn.push(`${id}: does not end with its end`);
}
expect('every run completed, and no result was lost', wrong);
expect('no log has a duplicate, a gap or an event out of order', torn);
await world.close();
await Promise.all(['app', 'server'].map(kill));
process.exit(failures > 0 ? 1 : existsSync(folder) ? 0 : 1);
