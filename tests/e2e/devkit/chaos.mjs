// An application and its server, killed at random under load (SIGKILL: one, the other, both). Every
// run that was acknowledged ends with the right result, and its log is whole.
// Usage: node chaos.mjs PROGRAM FOLDER [SECONDS [SEED]]

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';

const [program, folder, seconds = '20', seed = String(Date.now() % 1e6)] = process.argv.slice(2);
const require = createRequire(path.join(process.cwd(), 'x.js'));
const app = path.join(path.dirname(require.resolve('@workflow/world-testing')), 'server.mjs');
const package_ = require.resolve('@everstep/world');
const { createWorld } = await import(package_);
const { hydrateWorkflowReturnValue: hydrate } = await import('@workflow/core/serialization');
mkdirSync(folder, { recursive: true });

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
      env: { ...process.env, PORT: String(ports.app), WORKFLOW_TARGET_WORLD: package_ },
      // The application of the suite tells where it listens on a pipe of its own.
      stdio: ['ignore', 'ignore', 'ignore', 'ignore'],
    }),
};
const crashes = [];
const begin = (name) => {
  const child = (children[name] = start[name]());
  child.once('exit', (code, signal) => {
    if (child.isVictim) return;
    crashes.push(`${name} ended with ${signal ?? code}`);
    begin(name);
  });
};
const kill = async (name) => {
  const child = children[name];
  child.isVictim = true;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
};
process.on('exit', () => Object.values(children).forEach((child) => child.kill('SIGKILL')));
const messages = async () => {
  const response = await fetch(`${process.env.EVERSTEP_URL}/v1/messages?limit=1000`);
  return (await response.json()).messages ?? [];
};

// What each of them is known to come to.
const WORKFLOWS = [
  { file: 'workflows/addition.ts', workflow: 'addition', args: [1, 2], result: '3' },
  { file: 'workflows/noop.ts', workflow: 'brokenWf', args: [1, 2] },
  { file: 'workflows/inline-execution.ts', workflow: 'sequentialStepsWorkflow', args: [10], result: '20' },
  { file: 'workflows/inline-execution.ts', workflow: 'parallelStepsWorkflow', args: [] },
  { file: 'workflows/inline-execution.ts', workflow: 'sleepWorkflow', args: [], result: '3' },
  { file: 'workflows/null-byte.ts', workflow: 'nullByteWorkflow', args: [] },
  { file: 'workflows/retriable-and-fatal.ts', workflow: 'retryableAndFatalErrorWorkflow', args: [] },
];
const runs = new Map(); // to the workflow
async function invoke() {
  const which = WORKFLOWS[Math.floor(random() * WORKFLOWS.length)];
  try {
    const response = await fetch(`http://127.0.0.1:${ports.app}/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ file: which.file, workflow: which.workflow, args: which.args }),
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) return false;
    runs.set((await response.json()).runId, which);
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
    while (Date.now() < until) await sleep((await invoke()) ? 400 : 100);
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
const PATIENCE_MS = 150_000; // twice the longest pause between two deliveries, and some
const left = new Set(runs.keys());
for (let progress = Date.now(); left.size > 0 && Date.now() < progress + PATIENCE_MS; ) {
  for (const id of left) {
    const run = await world.runs.get(id, { resolveData: 'none' });
    if (!ENDS.has(run.status)) continue;
    left.delete(id);
    progress = Date.now();
  }
  await sleep(200);
}
expect(`${runs.size} runs were acknowledged while ${kills} times somebody was killed (seed ${seed})`,
       runs.size > 0 && kills > 0 ? [] : ['nothing happened']);
expect('nobody ended who was not killed', crashes);
const queued = await messages();
expect('every run has ended', await Promise.all([...left].map(async (id) => {
  const events = await world.events.list({ runId: id, pagination: { limit: 1000 } });
  const said = queued.filter((message) => message.group === id).map((message) => JSON.stringify(message));
  return `${id} ${runs.get(id).workflow}: ${events.data.map((event) => event.eventType).join(' ')}; queued: ${said}`;
})));

// The runtime counts every start of a step, also those that ended with the application.
const STARTS_MAX = 4;
const STATUS = {
  step_created: 'pending', step_started: 'running', step_retrying: 'pending', step_completed: 'completed', step_failed: 'failed',
};
const wrong = [];
const torn = [];
let exhausted = 0;
for (const [id, { workflow, result }] of runs) {
  const run = await world.runs.get(id);
  const { data, hasMore } = await world.events.list({ runId: id, pagination: { limit: 1000, sortOrder: 'asc' } });
  const once = new Set();
  const open = new Map(); // steps, hooks and waits, to what was said of them last
  const results = new Map(); // of steps
  const starts = new Map(); // of steps, how many
  for (const [i, event] of data.entries()) {
    if (Number(event.eventId.slice('evnt_'.length)) !== i + 1) torn.push(`${id}: ${event.eventId} at ${i + 1}`);
    const type = event.eventType;
    const key = `${type} ${event.correlationId ?? ''}`;
    const repeats = type === 'step_started' || type === 'step_retrying' || type === 'hook_received';
    if (!repeats && once.has(key)) torn.push(`${id}: ${key} twice`);
    once.add(key);
    if (!event.correlationId) continue;
    const before = open.get(event.correlationId);
    const opens = type.endsWith('_created');
    if (opens === (before !== undefined)) torn.push(`${id}: ${key} after ${before ?? 'nothing'}`);
    if (/^(step_completed|step_failed|wait_completed)$/.test(before)) torn.push(`${id}: ${key} after its end`);
    open.set(event.correlationId, type);
    if (type === 'step_completed') results.set(event.correlationId, event.eventData.result);
    if (type === 'step_started') starts.set(event.correlationId, (starts.get(event.correlationId) ?? 0) + 1);
  }
  if (hasMore || data.at(-1).eventType !== `run_${run.status}`) torn.push(`${id}: does not end with its end`);
  const steps = await world.steps.list({ runId: id, pagination: { limit: 1000 } });
  const values = [];
  for (const step of steps.data) {
    const kept = results.get(step.stepId);
    const ended = open.get(step.stepId);
    if (STATUS[ended] !== step.status) torn.push(`${id}: ${step.stepId} is ${step.status} after ${ended}`);
    if (step.status !== 'completed') continue;
    if (!kept || Buffer.compare(kept, step.output) !== 0) wrong.push(`${id}: ${step.stepId} has another result`);
    else values.push(await hydrate(kept, id, undefined));
  }
  if (run.status !== 'completed') {
    const isExhausted = [...starts].some(([step, count]) => count >= STARTS_MAX && open.get(step) === 'step_failed');
    if (isExhausted) exhausted += 1;
    else wrong.push(`${id} ${workflow} is ${run.status}: ${data.map((event) => event.eventType).join(' ')}`);
    continue;
  }
  const isOpen = steps.data.some((step) => step.status !== 'completed' && step.status !== 'failed');
  if (isOpen) torn.push(`${id}: ended with a step under way`);
  const output = await hydrate(run.output, id, undefined);
  if (result !== undefined && JSON.stringify(output) !== result) wrong.push(`${id} ${workflow}: ${JSON.stringify(output)}`);
  if (workflow === 'brokenWf' && !(output.numbers.length === 20 && output.numbers.every((n) => values.includes(n)))) {
    wrong.push(`${id} ${workflow}: ${output.numbers} of ${values}`);
  }
}
expect(`every run came to its result, or to the end of its retries (${exhausted}), and no result of a step was lost`, wrong);
expect('no log has a duplicate, a gap or an event out of order', torn);
await world.close();
await Promise.all(['app', 'server'].map(kill));
process.exit(failures > 0 ? 1 : 0);
