// The package by itself: its codec, and that making a world costs nothing.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const require = createRequire(import.meta.url);
const folder = new URL('./', import.meta.resolve('@everstep/world'));
const { decode, encode } = await import(new URL('cbor.js', folder));

test('what is encoded is decoded to the same', () => {
  const value = {
    none: null,
    yes: true,
    numbers: [0, 23, 24, 255, 256, 65535, 65536, 4294967296, -1, -500, 1.5, -0.25, 2 ** 53 - 1],
    text: ['', 'a', 'x'.repeat(23), 'x'.repeat(24), 'ä'.repeat(30), 'x'.repeat(70000), '\u0000€😀'],
    bytes: new Uint8Array([0, 255, 1]),
    at: new Date(1700000000123),
    nested: { list: [{ a: [] }, {}] },
  };
  assert.deepEqual(decode(encode(value)), value);
  assert.deepEqual(decode(encode({ a: undefined, b: 1 })), { b: 1 });
});

test('a world is made without a server, and by require', async () => {
  const module = require('@everstep/world');
  const world = module.createWorld();
  assert.equal(typeof module.default, 'function');
  assert.equal(typeof world.createQueueHandler('__wkf_workflow_', async () => {}), 'function');
  await world.close();
});

test('the package speaks as the installed DevKit does', async () => {
  const world = require('@everstep/world').createWorld();
  assert.equal(world.specVersion, Number(process.env.EXPECTED_SPEC));
  assert.equal(typeof (world.streams ?? world).write, world.specVersion > 3 ? 'function' : 'undefined');
  assert.equal(typeof world.writeToStream, world.specVersion > 3 ? 'undefined' : 'function');
});

test('a delivery that is not signed is refused', async () => {
  const { createWorld } = await import('@everstep/world');
  let called = false;
  const handle = createWorld({ token: 'secret' }).createQueueHandler('__wkf_workflow_', async () => {
    called = true;
  });
  const send = (headers) =>
    handle(new Request('http://app/flow', { method: 'POST', body: '{}', headers }));
  assert.equal((await send({})).status, 400);
  const headers = { 'everstep-queue': '__wkf_workflow_x', 'everstep-message-id': 'msg_1', 'everstep-attempt': '1' };
  assert.equal((await send(headers)).status, 401);
  const now = Math.floor(Date.now() / 1000);
  assert.equal((await send({ ...headers, 'everstep-signature': `t=${now},v1=${'0'.repeat(64)}` })).status, 401);
  assert.equal(called, false);
});

test('each run has a key of its own', async () => {
  const { createWorld } = await import('@everstep/world');
  const world = createWorld({ encryptionSecret: 'a long secret' });
  const one = await world.getEncryptionKeyForRun('wrun_1');
  assert.equal(one.length, 32);
  assert.deepEqual(await world.getEncryptionKeyForRun({ runId: 'wrun_1' }), one);
  assert.notDeepEqual(await world.getEncryptionKeyForRun('wrun_2'), one);
  assert.equal(await createWorld().getEncryptionKeyForRun('wrun_1'), undefined);
});

test('without a server a call fails as the runtime expects', async () => {
  const { createWorld } = await import('@everstep/world');
  const world = createWorld({ url: 'http://127.0.0.1:9', retryForMs: 0 });
  await assert.rejects(world.runs.get('wrun_1'), (error) => {
    assert.equal(error.name, 'WorkflowWorldError');
    assert.equal(error.code, 'TRANSPORT');
    assert.ok(error.status >= 500);
    return true;
  });
});
