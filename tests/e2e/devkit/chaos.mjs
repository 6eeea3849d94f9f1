// The application in chaos/ and its server, killed at random under load (one, the other, or both;
// sometimes the server is only asked to stop). Every acknowledged run must complete soon and with
// the right result, its log must be intact, and completed work must not be repeated.
// Usage: node chaos.mjs PROGRAM FOLDER [SECONDS [SEED [STEPS MS RUNS]]]
// STEPS MS RUNS: workflows with STEPS long steps of MS ms each, at most RUNS of them.

import { spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { createWorld } from '@everstep/world';
import { hydrateWorkflowReturnValue as hydrate } from '@workflow/core/serialization';

const [program, folder, seconds = '20', seed = String(Date.now() % 1e6), length = '6', ms = '400', longRuns = '40'] = process.argv.slice(2);
const STEP_MS = Number(ms);
mkdirSync(folder, { recursive: true });
process.env.BODIES = path.resolve(folder, 'bodies');
writeFileSync(process.env.BODIES, '');

// The same seed gives the same order of kills, but not their exact times.
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
const logs = Object.fromEntries(['server', 'app'].map((name) => [name, openSync(path.join(folder, `${name}.log`), 'a')]));
const said = (name) => ['ignore', logs[name], logs[name]];
const start = {
  server: () =>
    spawn(program, ['serve', '--dev', '--data', path.join(folder, 'data'), '--listen', `127.0.0.1:${ports.server}`], {
      stdio: said('server'),
    }),
  app: () =>
    spawn(process.execPath, ['server.mjs'], {
      env: { ...process.env, PORT: String(ports.app), WORKFLOW_TARGET_WORLD: '@everstep/world', EVERSTEP_CONCURRENCY: '1000' },
      stdio: said('app'),
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
const kill = async (name, signal = 'SIGKILL') => {
  const child = children[name];
  child.isVictim = true;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await gone;
};
process.on('exit', () => Object.values(children).forEach((child) => child.kill('SIGKILL')));
// Waits until both are up.
const answers = async (name, route) => {
  for (const patience = Date.now() + 15_000; Date.now() < patience; await sleep(50)) {
    const response = await fetch(`http://127.0.0.1:${ports[name]}${route}`, { signal: AbortSignal.timeout(2000) }).catch(() => {});
    if (response?.ok) return;
  }
};
const bothAnswer = () => Promise.all([answers('server', '/readyz'), answers('app', '/ready')]);
const messages = async () => {
  const response = await fetch(`${process.env.EVERSTEP_URL}/v1/messages?limit=1000`);
  return (await response.json()).messages ?? [];
};

// The expected outcome of each workflow: its result, the results of its steps, and how many of them
// fail.
const count = (length, make) => Array.from({ length }, (_, i) => make(i));
const triangle = (n) => (n * (n + 1)) / 2;
const LONG = { workflow: 'long', args: [Number(length), STEP_MS], result: triangle(Number(length)), steps: count(Number(length), (i) => i + 1), failed: 0 };
const WORKFLOWS = [
  { workflow: 'sequence', args: [10], result: 55, steps: count(10, (i) => triangle(i + 1)), failed: 0 },
  { workflow: 'fan', args: [8], result: [...count(8, (i) => i), ...count(8, (i) => i + 100)], failed: 0 },
  { workflow: 'nap', args: [5], result: 7, steps: [6, 6, 7], failed: 0 },
  { workflow: 'retried', args: ['right'], result: 'right, no use', steps: ['right'], failed: 1 },
  { workflow: 'delivered', result: 42, steps: [42], failed: 0 },
];
const runs = new Map(); // run -> expected outcome
const ended = new Set();
const ENDS = new Set(['completed', 'failed', 'cancelled']);
const world = createWorld();
// The load that one process of the application can carry even with the slowest runtime. Beyond it
// runs wait for its processor, which is not what this test measures.
const SHORT_OPEN_MAX = 30;
const tokens = new Map(); // hook token, not delivered to yet -> run
let invoked = 0;
let long = 0; // runs of the workflow with long steps; some start early and some late
const openShort = () => [...runs].filter(([id, known]) => known !== LONG && !ended.has(id));
async function invoke() {
  const share = 1 - Math.max(0, until - Date.now()) / (Number(seconds) * 1000);
  const which = long < Number(longRuns) * share && random() < 0.5 ? LONG : WORKFLOWS[Math.floor(random() * WORKFLOWS.length)];
  if (which !== LONG && openShort().length >= SHORT_OPEN_MAX) return false;
  const token = `token-${(invoked += 1)}`;
  try {
    const response = await fetch(`http://127.0.0.1:${ports.app}/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ workflow: which.workflow, args: which.args ?? [token] }),
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) return false;
    const { runId } = await response.json();
    runs.set(runId, which);
    if (which === LONG) long += 1;
    if (!which.args) tokens.set(token, runId);
    return true;
  } catch {
    return false; // the run was not acknowledged
  }
}
// A delivery without an answer is repeated.
async function deliver() {
  for (const token of [...tokens.keys()]) {
    try {
      const response = await fetch(`${process.env.EVERSTEP_URL}/v1/hooks/${token}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"number":41}',
        signal: AbortSignal.timeout(10_000),
      });
      if (response.ok) tokens.delete(token);
    } catch {
      return; // the server is down
    }
  }
}

const until = Date.now() + Number(seconds) * 1000;
begin('server');
begin('app');
let kills = 0;
const load = Promise.all(
  Array.from({ length: 8 }, async () => {
    while (Date.now() < until) await sleep((await invoke()) ? 400 : 100);
  }),
);
const observer = (async () => {
  for (; Date.now() < until; await sleep(200)) {
    for (const [id] of openShort()) {
      const run = await world.runs.get(id, { resolveData: 'none' }).catch(() => {}); // the server is down
      if (ENDS.has(run?.status)) ended.add(id);
    }
  }
})();
const carrier = (async () => {
  for (; Date.now() < until || tokens.size > 0; await sleep(300)) {
    await deliver();
    // The delivery happened, but its answer was lost.
    for (const [token, id] of tokens) if (ended.has(id)) tokens.delete(token);
  }
})();
while (Date.now() < until) {
  // Sometimes while they are still about to start.
  if (random() < 0.8) await bothAnswer();
  await sleep(random() * 1600);
  const victims = [['app'], ['server'], ['app', 'server']][Math.floor(random() * 3)];
  const isAsked = random() < 0.25;
  await Promise.all(victims.map((name) => kill(name, name === 'server' && isAsked ? 'SIGTERM' : 'SIGKILL')));
  kills += 1;
  await sleep(random() * 400);
  victims.forEach(begin);
}
await load;
await observer;
await bothAnswer();
const lastFault = Date.now();

const PATIENCE_MS = 150_000;
const END_MAX_MS = 30_000; // after the last fault, beyond the steps that are left
const STILL_MAX_MS = 20_000; // the longest pause after a death during a delivery, a sleep and a replay of everything
const left = new Set(runs.keys());
for (let progress = Date.now(); left.size > 0 && Date.now() < progress + PATIENCE_MS; ) {
  for (const id of left) {
    const run = await world.runs.get(id, { resolveData: 'none' });
    if (!ENDS.has(run.status)) continue;
    left.delete(id);
    ended.add(id);
    progress = Date.now();
  }
  await sleep(200);
}
const tail = ((Date.now() - lastFault) / 1000).toFixed(0);
expect(`${runs.size} runs were acknowledged during ${kills} kills (seed ${seed})`,
       runs.size > 0 && kills > 0 ? [] : ['nothing happened']);
expect('no process ended without being killed', crashes);
const queued = await messages();
expect(`every run has ended, the last ${tail} s after the last fault`, await Promise.all([...left].map(async (id) => {
  const events = await world.events.list({ runId: id, pagination: { limit: 1000 } });
  const said = queued.filter((message) => message.group === id).map((message) => JSON.stringify(message));
  return `${id} ${runs.get(id).workflow}: ${events.data.map((event) => event.eventType).join(' ')}; queued: ${said}`;
})));

const STATUS = {
  step_created: 'pending', step_started: 'running', step_retrying: 'pending', step_completed: 'completed', step_failed: 'failed',
};
const sorted = (values) => JSON.stringify(values.map((value) => JSON.stringify(value)).sort());
const wrong = [];
const torn = [];
const late = [];
const overdue = [];
const completions = new Map(); // step -> when its completion was durable
let stillest = 0;
let latest = 0;
let starts = 0; // of steps
let steps = 0;
for (const [id, known] of runs) {
  const run = await world.runs.get(id);
  const { data, hasMore } = await world.events.list({ runId: id, pagination: { limit: 1000, sortOrder: 'asc' } });
  const types = data.map((event) => event.eventType).join(' ');
  const once = new Set();
  const open = new Map(); // steps, hooks and waits -> their last event
  const results = new Map(); // of steps
  for (const [i, event] of data.entries()) {
    if (Number(event.eventId.slice('evnt_'.length)) !== i + 1) torn.push(`${id}: ${event.eventId} at ${i + 1}`);
    const type = event.eventType;
    const key = `${type} ${event.correlationId ?? ''}`;
    const repeats = type === 'step_started' || type === 'step_retrying' || type === 'hook_received';
    if (!repeats && once.has(key)) torn.push(`${id}: ${key} twice`);
    once.add(key);
    if (type === 'step_started') starts += 1;
    if (!event.correlationId) continue;
    const before = open.get(event.correlationId);
    const opens = type.endsWith('_created');
    if (opens === (before !== undefined)) torn.push(`${id}: ${key} after ${before ?? 'nothing'}`);
    if (/^(step_completed|step_failed|wait_completed|hook_disposed)$/.test(before)) torn.push(`${id}: ${key} after its end`);
    open.set(event.correlationId, type);
    if (type !== 'step_completed') continue;
    results.set(event.correlationId, event.eventData.result);
    completions.set(`${id} ${event.correlationId}`, event.createdAt.getTime());
  }
  if (run.status !== 'completed') {
    wrong.push(`${id} ${known.workflow} is ${run.status}: ${types}`);
    continue;
  }
  // The longest time without an event since the last fault, not counting the duration of a step.
  const times = [lastFault, ...data.map((event) => event.createdAt.getTime()).filter((at) => at > lastFault)];
  const still = Math.max(0, ...times.slice(1).map((at, i) => at - times[i])) - (known === LONG ? STEP_MS : 0);
  stillest = Math.max(stillest, still);
  if (still > STILL_MAX_MS) late.push(`${id} ${known.workflow}: ${(still / 1000).toFixed(1)} s: ${types}`);
  // How long after the last fault it ended, not counting the long steps that it had left, each at the
  // pace that the runtime keeps.
  const ends = data.filter((event) => event.eventType === 'step_completed').map((event) => event.createdAt.getTime()).filter((at) => at > lastFault);
  const paces = ends.slice(1).map((at, i) => at - ends[i]).sort((a, b) => a - b);
  const pace = Math.max(STEP_MS, paces[paces.length >> 1] ?? 0);
  const extra = Math.max(0, times.at(-1) - lastFault - (known === LONG ? ends.length * pace : 0));
  latest = Math.max(latest, extra);
  if (extra > END_MAX_MS) overdue.push(`${id} ${known.workflow}: ${(extra / 1000).toFixed(1)} s: ${types}`);
  if (hasMore || data.at(-1).eventType !== 'run_completed') torn.push(`${id}: does not end with its end: ${types}`);
  const output = await hydrate(run.output, id, undefined);
  if (JSON.stringify(output) !== JSON.stringify(known.result)) {
    wrong.push(`${id} ${known.workflow}: ${JSON.stringify(output)}`);
  }
  const listed = (await world.steps.list({ runId: id, pagination: { limit: 1000 } })).data;
  steps += listed.length;
  for (const step of listed) {
    const last = open.get(step.stepId);
    if (STATUS[last] !== step.status) torn.push(`${id}: ${step.stepId} is ${step.status} after ${last}`);
    if (step.status !== 'completed') continue;
    const result = results.get(step.stepId);
    if (!result || Buffer.compare(result, step.output) !== 0) wrong.push(`${id}: ${step.stepId} has another result`);
  }
  const values = await Promise.all([...results.values()].map((value) => hydrate(value, id, undefined)));
  const wanted = sorted(known.steps ?? known.result);
  if (sorted(values) !== wanted) wrong.push(`${id} ${known.workflow}: its steps came to ${sorted(values)}, not ${wanted}`);
  const failed = listed.filter((step) => step.status === 'failed').length;
  if (failed !== known.failed || listed.length !== values.length + failed) {
    wrong.push(`${id} ${known.workflow}: of ${listed.length} steps ${failed} failed and ${values.length} completed`);
  }
}
expect(`every run has its result, and each of its ${steps} steps completed once, in ${starts} starts`, wrong);
expect('no log has a duplicate, a gap or an event out of order', torn);
expect(`every run ended within seconds of the last fault, the last one ${(latest / 1000).toFixed(1)} s beyond its steps`, overdue);
expect(`no run stalled after the last fault, the longest gap was ${(stillest / 1000).toFixed(1)} s beyond its steps`, late);

// ---- bodies of long steps: what was started, by which process, and whether it was needed
const RACE_MS = 100; // between the end of one handler and the check by another
const bodies = readFileSync(process.env.BODIES, 'utf8').split('\n').filter(Boolean).map((line) => {
  const [what, at, pid, runId, stepId] = line.split(' ');
  return { what, at: Number(at), pid, runId, stepId, key: `${runId} ${stepId}` };
}).filter(({ runId }) => runs.has(runId));
const begins = bodies.filter(({ what }) => what === 'begin');
const needless = begins.map((body) => ({ ...body, by: body.at - (completions.get(body.key) ?? Infinity) })).filter(({ by }) => by > 0);
const repeated = needless.filter(({ by }) => by > RACE_MS);
expect(`of ${begins.length} bodies of long steps ${needless.length} started after the step's result was durable, none by more than ${RACE_MS} ms`,
       repeated.map(({ key, by, pid }) => `${key}: ${by} ms after it, in process ${pid}`));
// A process that died lost its bodies: each process may start each step once.
const ideal = new Set(begins.map(({ key, pid }) => `${key} ${pid}`)).size;
const done = new Set(begins.map(({ key }) => key)).size;
const ratio = begins.length / Math.max(1, ideal);
expect(`${begins.length} bodies started for ${done} steps; without server faults there would be ${ideal} (${ratio.toFixed(3)} times as many)`,
       ratio <= 1.1 && begins.length > 0 ? [] : [`${begins.length} for ${ideal}`]);
tokens.clear();
await carrier;
await world.close();
await Promise.all(['app', 'server'].map((name) => kill(name)));
process.exit(failures > 0 ? 1 : 0);
