// The application that is killed: the runtime's routes, and one to start workflows.
//   POST /invoke     {"workflow":"sequence","args":[10]}
//   GET  /ready

import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { createWorld } from '@everstep/world';
import { start } from 'workflow/api';
import { setWorld } from 'workflow/runtime';

// Some betas require it when the application is built; all of them accept it.
const world = createWorld();
setWorld(world);
const routes = new URL('./.well-known/workflow/v1/', import.meta.url);
const handlers = {};
for (const name of ['flow', 'step', 'webhook']) {
  for (const file of [`${name}.js`, `${name}.mjs`]) {
    const url = new URL(file, routes);
    if (existsSync(url)) handlers[name] = (await import(url)).POST;
  }
}
const manifest = JSON.parse(readFileSync(new URL('manifest.json', routes), 'utf8'));
const workflows = Object.assign({}, ...Object.values(manifest.workflows));

async function answer(request) {
  const { pathname } = new URL(request.url);
  const route = /^\/\.well-known\/workflow\/v1\/(flow|step|webhook)\b/.exec(pathname)?.[1];
  if (route && handlers[route]) return handlers[route](request);
  if (pathname === '/ready') return new Response('ready');
  if (pathname !== '/invoke') return new Response('not found', { status: 404 });
  const { workflow, args } = await request.json();
  return Response.json({ runId: (await start(workflows[workflow], args)).runId });
}

const server = createServer(async (incoming, outgoing) => {
  try {
    const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD';
    const response = await answer(
      new Request(`http://${incoming.headers.host}${incoming.url}`, {
        method: incoming.method,
        headers: new Headers(incoming.headers),
        ...(hasBody ? { body: Readable.toWeb(incoming), duplex: 'half' } : {}),
      }),
    );
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(await response.text());
  } catch (error) {
    outgoing.writeHead(500).end(String(error));
  }
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => world.start());
