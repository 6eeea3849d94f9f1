// One world under load: the application, its runtime and the load generator in one process, forked by bench.mjs. Sends
// 'ready', then answers each request {part, concurrency, seconds} with its results.

import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { start } from 'workflow/api';
import { setWorld } from 'workflow/runtime';

const [name] = process.argv.slice(2);
const module = await import(name);
const world = (module.createWorld ?? module.default)();
const ended = new Map(); // run id to the waiting callback
const waiting = new Set();
const create = world.events.create.bind(world.events);
world.events.create = async (runId, data, params) => {
  const result = await create(runId, data, params);
  if (data.eventType === 'run_completed' || data.eventType === 'run_failed') {
    const resolve = ended.get(runId);
    ended.delete(runId);
    if (resolve) resolve(data.eventType);
    else waiting.add(runId);
  }
  return result;
};
setWorld(world);
const routes = new URL('./.well-known/workflow/v1/', import.meta.url);
const flow = await import(new URL('flow.mjs', routes)).catch(() => import(new URL('flow.js', routes)));
const manifest = JSON.parse(readFileSync(new URL('manifest.json', routes), 'utf8'));
const tenSteps = Object.values(manifest.workflows).find((file) => file.tenSteps).tenSteps;

const server = createServer((incoming, outgoing) => {
  const parts = [];
  incoming.on('data', (part) => parts.push(part));
  incoming.on('end', async () => {
    const request = new Request(`http://127.0.0.1${incoming.url}`, {
      method: 'POST',
      headers: incoming.headers,
      body: Buffer.concat(parts),
    });
    const response = await flow.POST(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(await response.text());
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
process.env.PORT = String(server.address().port);
world.attach?.(flow.POST);
await world.start?.();

async function measure(one, concurrency, seconds) {
  const times = [];
  const begun = performance.now();
  const until = begun + seconds * 1000;
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < until) {
        const from = performance.now();
        await one();
        times.push(performance.now() - from);
      }
    }),
  );
  const cpu = process.cpuUsage(before);
  return { times, seconds: (performance.now() - begun) / 1000, cpuMs: (cpu.user + cpu.system) / 1000 };
}

async function tenStepRun() {
  const { runId } = await start(tenSteps, []);
  const end = waiting.delete(runId)
    ? 'run_completed'
    : await new Promise((resolve) => ended.set(runId, resolve));
  if (end !== 'run_completed') throw new Error(`${runId}: ${end}`);
}

const payload = new Uint8Array(200).fill(7);
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
let next = 0;
function newId(prefix) {
  let time = Date.now();
  let text = '';
  for (let i = 0; i < 10; ++i, time = Math.floor(time / 32)) text = ALPHABET[time % 32] + text;
  let rest = (next += 1);
  let tail = '';
  for (let i = 0; i < 10; ++i, rest = Math.floor(rest / 32)) tail = ALPHABET[rest % 32] + tail;
  return `${prefix}_${text}${String(process.pid).padStart(6, '0').slice(-6)}${tail}`;
}
async function eventChain() {
  const runId = newId('wrun');
  const event = (eventType, correlationId, eventData) =>
    create(runId, { eventType, correlationId, eventData, specVersion: 5 });
  await event('run_created', undefined, { deploymentId: 'bench', workflowName: 'workflow//./bench//chain', input: payload });
  await event('run_started');
  for (let i = 0; i < 10; ++i) {
    const stepId = newId('step');
    await event('step_created', stepId, { stepName: 'step//./bench//add', input: payload });
    await event('step_started', stepId);
    await event('step_completed', stepId, { result: payload });
  }
  await event('run_completed', undefined, { output: payload });
  await world.events.list({ runId, pagination: { sortOrder: 'asc', limit: 100 } });
}

// Warm-up, so that the hot code is compiled.
for (let i = 0; i < 10; ++i) await tenStepRun();
const parts = { runs: tenStepRun, events: eventChain };
process.on('message', async ({ part, concurrency, seconds }) => {
  process.send(await measure(parts[part], concurrency, seconds));
});
process.on('disconnect', () => process.exit(0));
process.send('ready');
