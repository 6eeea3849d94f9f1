// An application's run seen from outside: deliveries to its hooks, a call that waits for its end,
// its log in every dialect, a webhook that receives its events, and retention. Starts its own
// server.
// Usage: node outside.mjs PROGRAM FOLDER

import { execFileSync, spawn } from 'node:child_process';
import http from 'node:http';
import { once } from 'node:events';
import { hydrateWorkflowReturnValue } from '@workflow/core/serialization';
import { createWorld } from '@everstep/world';
import { expect, failed, startApplication, until } from './application.mjs';

const [program, folder] = process.argv.slice(2);
const data = `${folder}/data`;
let listen = '127.0.0.1:0';
async function startServer() {
  const server = spawn(program, ['serve', '--dev', '--data', data, '--listen', listen], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  process.on('exit', () => server.kill('SIGKILL'));
  const [text] = await once(server.stdout, 'data');
  listen = /listening on http:\/\/(\S+)/.exec(text)[1];
  return server;
}
async function call(method, path, body, headers = {}) {
  const answer = await fetch(`http://${listen}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  return { status: answer.status, body: await answer.json().catch(() => undefined) };
}

execFileSync(program, ['secret', 'set', 'hook', '--data', data], { input: `whsec_${Buffer.alloc(32, 7).toString('base64')}` });
let server = await startServer();
process.env.EVERSTEP_URL = `http://${listen}`;
const received = [];
const receiver = http.createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  if (request.url !== '/') return void response.writeHead(404).end();  // the world looks for its routes
  received.push(...JSON.parse(Buffer.concat(parts)));
  response.end();
});
await once(receiver.listen(0, '127.0.0.1'), 'listening');
await call('PUT', '/v1/sinks/out', {
  kind: 'webhook',
  from: 'beginning',
  webhook: { url: `http://127.0.0.1:${receiver.address().port}/`, secrets: ['secret:hook'] },
});

// ---- hooks
const start = await startApplication();
const world = createWorld();
const token = `token-${Date.now()}`;
const runId = await start('hooks', 'collectWithHook', [token, 'mine']);
await until(async () => (await call('GET', `/v1/hooks/${token}`)).status === 200);
const waiting = call('GET', `/v1/runs/${runId}?wait=50s`);
const asked = Date.now();
const deliver = (body, key) => call('POST', `/v1/hooks/${token}`, body, { 'idempotency-key': key });
const first = { data: 'first', more: [1.5, null, { deep: 'ü "quoted"' }] };
const taken = await deliver(first, 'once');
expect('a delivery under /v1 names the run', taken.status === 200 && taken.body.runId === runId, taken);
await deliver(first, 'once');
const refusal = await deliver(JSON.parse('{"__proto__":1}'), 'bad');
expect('a payload that its runtime could not read is refused', refusal.status === 400, refusal);
await deliver({ data: 'last', done: true }, 'twice');
const ended = await waiting;
expect('a waiting call returns as soon as the run ends', ended.body.status === 'COMPLETED' && Date.now() - asked < 20e3, ended);
const run = await world.runs.get(runId);
const output = await hydrateWorkflowReturnValue(run.output, runId, undefined);
const collected = output.collected.map(({ metadata, ...payload }) => payload);
expect('the run got what was delivered', JSON.stringify(collected) === JSON.stringify([first, { data: 'last', done: true }]), output);
const late = await deliver({ data: 'late' }, 'late');
expect('its hook is removed with it', late.status === 404 && late.body.code === 'HOOK_NOT_FOUND', late);

const cancelled = await start('hooks', 'collectWithHook', [`${token}-2`, 'mine']);
await until(async () => (await call('GET', `/v1/hooks/${token}-2`)).status === 200);
const stopped = call('GET', `/v1/runs/${cancelled}?wait=50s`);
execFileSync(program, ['signal', cancelled, 'CANCEL', '--reason', 'enough', '--server', `http://${listen}`]);
expect('a waiting call returns on cancellation', (await stopped).body.status === 'CANCELLED');

// ---- name spaces: a delivery to a run goes to the application that started it, whichever others
// exist
const heard = [];
async function applicationIn(space) {
  const listener = http.createServer((request, response) => {
    const queue = request.headers['everstep-queue'];
    if (queue) heard.push(`${space}: ${queue}`); // the world also looks whether it serves its routes
    response.end('{"ok":true}');
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const mine = createWorld({ appUrl: `http://127.0.0.1:${listener.address().port}` });
  process.env.WORKFLOW_QUEUE_NAMESPACE = space;
  await mine.start();
  delete process.env.WORKFLOW_QUEUE_NAMESPACE;
  return { world: mine, close: async () => (await mine.close(), listener.closeAllConnections(), listener.close()) };
}
const spaces = [];
for (const space of ['aaa', 'shop', 'zoo']) spaces.push(await applicationIn(space));
const shops = `wrun_${runId.slice(5, 15)}${'7'.repeat(16)}`;
const { events: shopEvents } = spaces[1].world;
await shopEvents.create(shops, { eventType: 'run_created', eventData: { deploymentId: 'd', workflowName: 'w', input: new Uint8Array([1]) } });
await shopEvents.create(shops, { eventType: 'hook_created', correlationId: 'hook_1', eventData: { token: `${token}-shop` } });
await call('POST', `/v1/hooks/${token}-shop`, { data: 1 });
await until(() => heard.length > 0);
expect('a delivery wakes the run in its original name space', heard[0] === 'shop: __shop_wkf_workflow_w', heard);
for (const one of spaces) await one.close();

// ---- sinks and dialects
const last = (await call('GET', `/v1/runs/${runId}`)).body.lastEventSeq;
const own = () => received.filter((event) => event.runId === runId).map((event) => event.runSeq);
await until(() => own().length >= last);
const inOrder = own().every((seq, i) => seq === i + 1) && own().length === last;
expect('a webhook receives all its events in order', inOrder, own());
for (const dialect of ['native', 'contract', 'devkit', 'noetl', 'elephant', 'cloudevents']) {
  const { status, body } = await call('GET', `/v1/runs/${runId}/events?dialect=${dialect}`);
  const whole = dialect === 'native' || dialect === 'devkit' || dialect === 'cloudevents' ? last : 1;
  expect(`its log reads in ${dialect}`, status === 200 && body.events.length >= whole, body);
}

// ---- retention
await call('DELETE', '/v1/sinks/out');
receiver.closeAllConnections();
receiver.close(); // a process that listens and sends messages counts as an application
await world.streams.write(runId, 'notes', 'kept');
await world.queue('__nobody_takes_it', { runId });
await world.queue('__nobody_takes_it', { runId: cancelled });
const held = `${token}-3`;
const other = `wrun_${runId.slice(5, 15)}${'0'.repeat(16)}`;
const create = (id, eventType, correlationId, eventData) => world.events.create(id, { eventType, correlationId, eventData });
await create(other, 'run_created', undefined, { deploymentId: 'd', workflowName: 'w', input: new Uint8Array([1]) });
await create(other, 'hook_created', 'hook_1', { token: held, tokenRetentionUntil: new Date(Date.now() + 86400e3) });
await create(other, 'run_completed');
const messages = async () =>
  (await call('GET', '/v1/messages')).body.messages.filter(({ topic }) => topic === '__nobody_takes_it').map(({ group }) => group);
expect('one message per run is waiting', (await messages()).length === 2, await messages());
server.kill('SIGTERM');
await once(server, 'exit');
const retained = execFileSync(program, ['log', 'retain', '--store', `${data}/store`, '--older-than', '0s', '--status', 'completed'], { encoding: 'utf8' });
expect('retention removes runs of applications', retained.includes('removed 2 runs'), retained);
server = await startServer();
const lost = async (promise) => promise.then(() => 'there', (error) => error.name);
expect('a removed run is gone', (await lost(world.runs.get(runId))) === 'WorkflowRunNotFoundError');
expect('its events are gone', (await world.events.list({ runId })).data.length === 0);
expect('its streams are gone', (await world.streams.list(runId)).length === 0);
expect('its messages are gone', (await messages()).join() === cancelled, await messages());
expect('its hook that kept a token is gone', (await lost(world.hooks.getByToken(held))) === 'HookNotFoundError');
expect('its id stays reserved', (await lost(create(runId, 'run_created', undefined, { deploymentId: 'd', workflowName: 'w', input: 1 }))) === 'RunExpiredError');
const heir = `wrun_${runId.slice(5, 15)}${'1'.repeat(16)}`;
await create(heir, 'run_created', undefined, { deploymentId: 'd', workflowName: 'w', input: new Uint8Array([1]) });
expect('its token is free', (await create(heir, 'hook_created', 'hook_1', { token: held })).hook?.runId === heir);
expect('a run of another status stays', (await world.runs.get(cancelled)).status === 'cancelled');
await world.close();
process.exit(failed ? 1 : 0);
