// The application: the routes of Workflow DevKit, and two of its own.
//   POST /orders                {"number":"7","items":["pump"],"cents":2500}
//   GET  /orders/{runId}/lines  the lines that the run writes, streamed while it runs

import { createServer } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { createWorld } from '@everstep/world';
import { getRun, start } from 'workflow/api';
import { setWorld } from 'workflow/runtime';

// WORKFLOW_TARGET_WORLD has the same effect, but some betas only read it if a framework builds the
// application.
const world = createWorld();
setWorld(world);

const routes = new URL('./.well-known/workflow/v1/', import.meta.url);
// 'step' exists in applications of the 4.x runtime.
const handlers = {};
for (const name of ['flow', 'step', 'webhook']) {
  for (const file of [`${name}.js`, `${name}.mjs`]) {
    const url = new URL(file, routes);
    if (existsSync(url)) handlers[name] = (await import(url)).POST;
  }
}
const manifest = JSON.parse(readFileSync(new URL('manifest.json', routes), 'utf8'));
const ship = Object.values(manifest.workflows)
  .flatMap((file) => Object.entries(file))
  .find(([name]) => name === 'ship')[1];

async function answer(request) {
  const { pathname } = new URL(request.url);
  const route = /^\/\.well-known\/workflow\/v1\/(flow|step|webhook)\b/.exec(pathname)?.[1];
  if (route && handlers[route]) return handlers[route](request);
  if (pathname === '/orders' && request.method === 'POST') {
    const run = await start(ship, [await request.json()]);
    return Response.json({ runId: run.runId });
  }
  const runId = /^\/orders\/([^/]+)\/lines$/.exec(pathname)?.[1];
  if (runId) {
    const lines = getRun(runId).getReadable().pipeThrough(
      new TransformStream({
        transform: (line, controller) => controller.enqueue(new TextEncoder().encode(`${line}\n`)),
      }),
    );
    return new Response(lines, { headers: { 'content-type': 'text/plain' } });
  }
  return new Response('not found', { status: 404 });
}

const server = createServer(async (incoming, outgoing) => {
  try {
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method,
      headers: new Headers(incoming.headers),
      ...(incoming.method === 'GET' || incoming.method === 'HEAD'
        ? {}
        : { body: Readable.toWeb(incoming), duplex: 'half' }),
    });
    const response = await answer(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body) Readable.fromWeb(response.body).pipe(outgoing);
    else outgoing.end();
  } catch (error) {
    outgoing.writeHead(500).end(String(error));
  }
});

server.listen(Number(process.env.PORT) || 0, '127.0.0.1', async () => {
  const { port } = server.address();
  process.env.PORT = String(port);
  await world.start();
  console.log(`listening on http://127.0.0.1:${port}`);
});
