// The package by itself: its codec, its connections, and that creating a world is free of side
// effects.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { test } from 'node:test';

const require = createRequire(import.meta.url);
const folder = new URL('./', import.meta.resolve('@everstep/world'));
const { decode, encode } = await import(new URL('cbor.js', folder));
const { AnswerReader } = await import(new URL('http-answer.js', folder));
const { Connection } = await import(new URL('connection.js', folder));
const { ulid } = await import(new URL('ids.js', folder));
const { HttpSockets } = await import(new URL('http-sockets.js', folder));

test('encoding and decoding return the same value', () => {
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

test('similar strings are distinguished', () => {
  // Every two-byte character, after the string whose two characters have the values of these bytes.
  for (let code = 0x80; code < 0x800; ++code) {
    const character = String.fromCharCode(code);
    const alike = String.fromCharCode(...Buffer.from(character));
    assert.equal(decode(encode(alike)), alike);
    assert.equal(decode(encode(character)), character);
  }
  const plain = ['ex', 'xe', '', '\u0000', 'a'.repeat(23), 'a'.repeat(24), 'a'.repeat(47), 'a'.repeat(48), 'é'.repeat(47)];
  for (let i = 0; i < 3; ++i) assert.deepEqual(decode(encode(plain)), plain);
  assert.equal(decode(encode('\ud800')), '\ufffd');
});

test('bytes that are not CBOR, and truncated answers, are refused', () => {
  const wholes = [{ runId: 'wrun_1', list: [1.5, 70000, 2 ** 40] }, 'abc', 'x'.repeat(100), 'x'.repeat(300), new Uint8Array(40)];
  for (const whole of wholes.map(encode)) {
    for (let size = 0; size < whole.length; ++size) assert.throws(() => decode(whole.subarray(0, size)), `${size} bytes`);
  }
  assert.throws(() => decode(Buffer.from([0x1f])), /not CBOR/);
});

test('a world can be created without a server, and by require', async () => {
  const module = require('@everstep/world');
  const world = module.createWorld();
  assert.equal(typeof module.default, 'function');
  assert.equal(typeof world.createQueueHandler('__wkf_workflow_', async () => {}), 'function');
  await world.close();
});

test('the package uses the protocol of the installed DevKit', async () => {
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

// What the server sends: signed; every delivery of a message has the same id.
function delivery(secret, messageId, attempt, body = '{}') {
  const key = createHmac('sha256', secret).update('everstep delivery 1').digest('hex');
  const at = Math.floor(Date.now() / 1000);
  const text = `${at}.__wkf_workflow_x.${messageId}.${attempt}.${body}`;
  return new Request('http://app/flow', {
    method: 'POST',
    body,
    headers: {
      'everstep-queue': '__wkf_workflow_x',
      'everstep-message-id': messageId,
      'everstep-attempt': String(attempt),
      'everstep-signature': `t=${at},v1=${createHmac('sha256', key).update(text).digest('hex')}`,
    },
  });
}

test('a message repeated while its handler runs waits for that handler', async () => {
  const { createWorld } = await import('@everstep/world');
  const begun = [];
  const handler = async (_message, { messageId, attempt }) => {
    let end;
    const ended = new Promise((resolve, reject) => (end = { resolve, reject }));
    begun.push({ messageId, attempt, ...end });
    return ended;
  };
  // The runtime creates a second world for its handlers.
  const handle = createWorld({ token: 'secret' }).createQueueHandler('__wkf_workflow_', handler);
  const again = createWorld({ token: 'secret' }).createQueueHandler('__wkf_workflow_', handler);
  const ids = () => begun.map(({ messageId, attempt }) => `${messageId}/${attempt}`);
  const settled = () => new Promise((resolve) => setTimeout(resolve, 20));
  const answers = [handle(delivery('secret', 'msg_1', 1)), handle(delivery('secret', 'msg_1', 2)), again(delivery('secret', 'msg_1', 3))];
  const other = handle(delivery('secret', 'msg_2', 1));
  await settled();
  assert.deepEqual(ids(), ['msg_1/1', 'msg_2/1']);
  begun[0].resolve({ timeoutSeconds: 7 });
  for (const answer of answers) assert.deepEqual(await (await answer).json(), { timeoutSeconds: 7 });
  // The delivery is over: the next one is separate.
  const next = handle(delivery('secret', 'msg_1', 2));
  const beside = handle(delivery('secret', 'msg_1', 3));
  await settled();
  assert.deepEqual(ids(), ['msg_1/1', 'msg_2/1', 'msg_1/2']);
  begun[2].reject(new Error('boom'));
  for (const answer of [next, beside]) {
    assert.equal((await answer).status, 500);
    assert.match(await (await answer).json(), /boom/);
  }
  begun[1].resolve();
  assert.deepEqual(await (await other).json(), { ok: true });
  // Only the server may join a delivery.
  const foreign = handle(delivery('another', 'msg_3', 1));
  assert.equal((await foreign).status, 401);
});

// A process with the runtime's routes, in its own name space, and how it handles messages.
async function withApplication(handler, use) {
  const { createWorld } = await import('@everstep/world');
  process.env.WORKFLOW_QUEUE_NAMESPACE = `by${Date.now().toString(36)}`;
  const prefix = `__${process.env.WORKFLOW_QUEUE_NAMESPACE}_wkf_workflow_`;
  const worlds = [createWorld(), createWorld()]; // one for the handlers, and the application's
  const handle = worlds[0].createQueueHandler(prefix, handler);
  const server = createHttpServer(async (request, response) => {
    if (request.url === '/.well-known/workflow/v1/flow?__health') return response.end('{"healthy":true}');
    const parts = [];
    for await (const part of request) parts.push(part);
    const incoming = new Request(`http://app${request.url}`, { method: 'POST', body: Buffer.concat(parts), headers: request.headers });
    const answer = await handle(incoming);
    return response.writeHead(answer.status).end(await answer.text());
  });
  const listen = () => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use({ world: worlds[1], queue: `${prefix}x`, listen });
  } finally {
    delete process.env.WORKFLOW_QUEUE_NAMESPACE;
    for (const world of worlds) await world.close();
    server.closeAllConnections();
    server.close();
  }
}

test('an application that serves its routes gets its messages without calling start', async () => {
  const token = process.env.EVERSTEP_TOKEN_FILE && readFileSync(process.env.EVERSTEP_TOKEN_FILE, 'utf8').trim();
  const outside = new Connection({ url: process.env.EVERSTEP_URL, spec: 3, token });
  let take;
  const took = new Promise((resolve) => (take = resolve));
  await withApplication(async (message) => take(message), async ({ queue, listen }) => {
    await outside.call('queue.send', { queue, body: Buffer.from('{"waited":true}') });
    await listen();
    assert.deepEqual(await took, { waited: true });
  });
  outside.close();
});

test('a step without progress after its message gets that message again', async () => {
  const runId = `wrun_${ulid()}`;
  const taken = [];
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  let world;
  const create = (eventType, more) => world.events.create(runId, { eventType, specVersion: world.specVersion, ...more });
  const handler = async (_message, { messageId, attempt }) => {
    taken.push({ messageId, attempt });
    if (taken.length > 1) return end(await create('run_completed', { eventData: {} }));
    await create('step_created', { correlationId: 'step_1', eventData: { stepName: 's', input: new Uint8Array([1]) } });
    return create('step_started', { correlationId: 'step_1', eventData: { ownerMessageId: messageId } }).then(() => undefined);
  };
  await withApplication(handler, async ({ world: made, queue, listen }) => {
    world = made;
    await create('run_created', { eventData: { deploymentId: 'd', workflowName: 'x', input: new Uint8Array([1]) } });
    await create('run_started');
    await listen();
    const { messageId } = await world.queue(queue, { runId });
    await ended;
    assert.deepEqual(taken, [{ messageId, attempt: 1 }, { messageId, attempt: 2 }]);
  });
});

test('a stream is closed after all earlier writes to it, whoever made them', async () => {
  const { createStreams } = await import(new URL('streams.js', folder));
  const calls = [];
  const connection = {
    call: (method, { name }) => new Promise((resolve) => calls.push({ said: `${method} ${name}`, resolve })),
  };
  const streams = createStreams(() => connection);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const writes = [streams.write('wrun_1', 'a', 'x'), streams.writeMulti(Promise.resolve('wrun_1'), 'a', ['y'])];
  const closes = [streams.close('wrun_1', 'a'), streams.close('wrun_1', 'b')];
  await settled();
  assert.deepEqual(calls.map(({ said }) => said).sort(), ['streams.close b', 'streams.write a', 'streams.write a']);
  for (const { resolve } of calls) resolve({});
  await Promise.all(writes);
  await settled();
  assert.equal(calls[3]?.said, 'streams.close a');
  calls[3].resolve({});
  await Promise.all(closes);
});

test('many chunks are written, and many streams listed, in parts', async () => {
  const { createStreams } = await import(new URL('streams.js', folder));
  const sizes = [];
  const all = Array.from({ length: 2500 }, (_, i) => `s${String(i).padStart(4, '0')}`);
  const connection = {
    async call(method, { chunks, after, limit }) {
      if (method === 'streams.write') return void sizes.push(chunks.length);
      return all.filter((name) => !after || name > after).slice(0, limit);
    },
  };
  const streams = createStreams(() => connection);
  await streams.writeMulti('wrun_1', 'a', Array.from({ length: 2500 }, () => 'x'));
  assert.deepEqual(sizes, [1000, 1000, 500]);
  assert.deepEqual(await streams.list('wrun_1'), all);
});

test('requests that are too large are divided, and reads whose answers did not fit are made again', async () => {
  const sizes = [];
  const server = createHttpServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const { calls } = decode(Buffer.concat(parts));
    sizes.push(calls.length);
    if (calls.length > 4) return response.writeHead(413).end();
    // Only the first answer fits.
    const answers = calls.map(({ m, id }, i) => (i === 0 ? [0, `${m} ${id}`] : [1, { name: 'WorkflowWorldError', message: 'large', status: 413 }]));
    response.writeHead(200).end(encode(answers));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const connection = new Connection({ url: `http://127.0.0.1:${server.address().port}`, spec: 7 });
  const reads = Array.from({ length: 6 }, (_, id) => connection.call('runs.get', { id }));
  assert.deepEqual(await Promise.all(reads), reads.map((_, id) => `runs.get ${id}`));
  assert.deepEqual(sizes, [6, 3, 1, 1, 3, 1, 1]);
  const made = await Promise.allSettled([0, 1].map((id) => connection.call('events.create', { id })));
  assert.deepEqual(made.map(({ status }) => status), ['fulfilled', 'rejected'], 'what writes is not made twice');
  connection.close();
  server.close();
});

test('each run has its own key', async () => {
  const { createWorld } = await import('@everstep/world');
  const world = createWorld({ encryptionSecret: 'a long secret' });
  const one = await world.getEncryptionKeyForRun('wrun_1');
  assert.equal(one.length, 32);
  assert.deepEqual(await world.getEncryptionKeyForRun({ runId: 'wrun_1' }), one);
  assert.notDeepEqual(await world.getEncryptionKeyForRun('wrun_2'), one);
  assert.equal(await createWorld().getEncryptionKeyForRun('wrun_1'), undefined);
});

test('without a server, a call fails as the runtime expects', async () => {
  const { createWorld } = await import('@everstep/world');
  const world = createWorld({ url: 'http://127.0.0.1:9', retryForMs: 0 });
  await assert.rejects(world.runs.get('wrun_1'), (error) => {
    assert.equal(error.name, 'WorkflowWorldError');
    assert.equal(error.code, 'TRANSPORT');
    assert.ok(error.status >= 500);
    return true;
  });
});

// How a reader handles an answer that arrives in pieces of this many bytes.
function read(text, { closed = false, pieces = text.length } = {}) {
  const reader = new AnswerReader();
  let answer;
  for (let at = 0; at < text.length; at += pieces) {
    assert.equal(answer, undefined, 'nothing is an answer before its end');
    reader.add(Buffer.from(text.slice(at, at + pieces), 'latin1'));
    answer = reader.take(false);
  }
  if (closed) answer = reader.take(true);
  return answer && { ...answer, body: answer.body.toString('latin1'), keepAlive: reader.keepAlive };
}

test('answers are reassembled, however they are split', () => {
  const ok = { status: 200, retryAfter: 0, body: 'hello', keepAlive: true };
  const answers = [
    ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', ok],
    ['HTTP/1.1 200\r\ncontent-length:5\r\n\r\nhello', ok],
    ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', ok],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n', ok],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n', ok],
    ['HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello', { ...ok, keepAlive: false }],
    ['HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello', { ...ok, keepAlive: false }],
    ['HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n', { status: 429, retryAfter: 3, body: '', keepAlive: true }],
    ['HTTP/1.1 204 None\r\n\r\n', { status: 204, retryAfter: 0, body: '', keepAlive: true }],
  ];
  for (const [text, expected] of answers) {
    for (const pieces of [1, 2, 7, text.length]) assert.deepEqual(read(text, { pieces }), expected, text);
  }
  const untilClosed = 'HTTP/1.1 200 OK\r\n\r\nhello';
  assert.equal(read(untilClosed), undefined);
  assert.deepEqual(read(untilClosed, { closed: true }), { ...ok, keepAlive: false });
  assert.equal(read('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell', { closed: true }), undefined);
});

test('malformed answers are refused', () => {
  for (const text of [
    'SSH-2.0-OpenSSH_9.2\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n',
    `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(70_000)}`,
  ]) {
    assert.throws(() => read(text), undefined, text.slice(0, 60));
  }
});

// A server that answers each request with what `answer` returns for its body; null: it hangs up.
async function serve(answer, use) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    let text = '';
    socket.on('error', () => {});
    socket.on('data', async (part) => {
      text += part.toString('latin1');
      const [head, body] = text.split('\r\n\r\n');
      const length = Number(/content-length: (\d+)/.exec(head)?.[1]);
      if (body === undefined || body.length < length) return;
      text = '';
      const said = await answer(body, head);
      if (said === null) socket.destroy();
      else socket.write(said);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = new URL(`http://127.0.0.1:${server.address().port}/v1/devkit`);
  const sockets = new HttpSockets({ endpoint, headers: { authorization: 'Bearer x' } });
  const post = async (text, signal) => (await sockets.post(Buffer.from(text), signal)).body.toString();
  try {
    await use(post, () => connections, sockets);
  } finally {
    sockets.close();
    server.close();
  }
}
const echo = (body) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test('a connection is reused, and a hundred calls at once get their own answers', async () => {
  await serve((body, head) => (head.startsWith('POST /v1/devkit HTTP/1.1\r\n') && head.includes('authorization: Bearer x') ? echo(body) : null),
    async (post, connections) => {
      for (let i = 0; i < 5; ++i) assert.equal(await post(`one ${i}`), `one ${i}`);
      assert.equal(connections(), 1);
      const large = 'x'.repeat(200_000);
      assert.equal(await post(large), large);
      const texts = Array.from({ length: 100 }, (_, i) => `many ${i}`);
      assert.deepEqual(await Promise.all(texts.map((text) => post(text))), texts);
      assert.ok(connections() <= 64);
    });
});

test('a connection that ends fails only its own call', async () => {
  await serve((body) => (body === 'die' ? null : echo(body)), async (post, connections) => {
    const calls = [...Array(70).fill('die'), ...Array(70).fill('live')].map((text) => post(text).catch((error) => error.code));
    const answers = await Promise.all(calls);
    assert.deepEqual(answers, [...Array(70).fill('ECONNRESET'), ...Array(70).fill('live')]);
    assert.equal(await post('after'), 'after');
    assert.ok(connections() > 70);
  });
});

test('a waiting call gets a connection when all were closed after their answers', async () => {
  // The answers to the first 64, the maximum number of connections, arrive at the same moment.
  let come = 0;
  let go;
  const all = new Promise((resolve) => (go = resolve));
  const last = async (body) => {
    if (++come === 64) go();
    await all;
    return echo(body).replace('200 OK', '200 OK\r\nConnection: close');
  };
  await serve(last, async (post, connections) => {
    const texts = Array.from({ length: 65 }, (_, i) => `last ${i}`);
    assert.deepEqual(await Promise.all(texts.map((text) => post(text))), texts);
    assert.equal(connections(), 65);
  });
});

test('a call can be aborted, and close ends all calls', async () => {
  await serve((body) => (body === 'wait' ? '' : echo(body)), async (post, _, sockets) => {
    const stop = new AbortController();
    const given = post('wait', stop.signal);
    stop.abort();
    await assert.rejects(given, { name: 'AbortError' });
    await assert.rejects(post('wait', AbortSignal.abort()), { name: 'AbortError' });
    assert.equal(await post('live'), 'live');
    const left = post('wait');
    await post('live');
    sockets.close();
    await assert.rejects(left, { code: 'ECONNRESET' });
  });
});

test('a header cannot inject another', () => {
  assert.throws(() => new HttpSockets({ endpoint: new URL('http://h/'), headers: { authorization: 'a\r\nb: c' } }), TypeError);
});
