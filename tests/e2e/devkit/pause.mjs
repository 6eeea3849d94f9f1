// A run that is paused gets no deliveries; resumed, it goes on and ends. Needs EVERSTEP_URL.
// Usage: node pause.mjs PROGRAM

import { execFileSync, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';

const [program] = process.argv.slice(2);
const require = createRequire(path.join(process.cwd(), 'x.js'));
const suite = path.dirname(require.resolve('@workflow/world-testing'));
const { createWorld } = await import(require.resolve('@everstep/world'));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let failed = false;
const expect = (sentence, holds, more = '') => {
  console.log(`${holds ? 'ok' : 'not ok'} - ${sentence}`);
  if (!holds) console.log(`#   ${more}`);
  failed ||= !holds;
};
const everstep = (...args) =>
  execFileSync(program, [...args, '--server', process.env.EVERSTEP_URL], { encoding: 'utf8' });

const app = spawn(process.execPath, [path.join(suite, 'server.mjs')], {
  env: { ...process.env, WORKFLOW_TARGET_WORLD: '@everstep/world' },
  stdio: ['ignore', 'pipe', 'inherit', 'ignore'],
});
process.on('exit', () => app.kill('SIGKILL'));
const url = await new Promise((resolve) => {
  let text = '';
  app.stdout.on('data', (part) => {
    text += part;
    const port = /listening on http:\/\/\S+:(\d+)/.exec(text)?.[1];
    if (port) resolve(`http://127.0.0.1:${port}`);
  });
});
const world = createWorld();
const until = async (holds) => {
  for (let i = 0; i < 200; ++i) {
    if (await holds()) return true;
    await sleep(50);
  }
  return false;
};

const invoked = await fetch(`${url}/invoke`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ file: 'workflows/inline-execution.ts', workflow: 'sleepWorkflow', args: [] }),
});
const { runId } = await invoked.json();
const types = async () => (await world.events.list({ runId, pagination: { limit: 1000 } })).data.map((event) => event.eventType);
const sleeps = await until(async () => (await types()).includes('wait_created'));
expect('a run sleeps', sleeps, (await types()).join(' '));
everstep('signal', runId, 'PAUSE', '--reason', 'audit');
expect('why says that it is paused', everstep('why', runId).includes('paused'));
expect('show says so too', everstep('show', runId).includes('PAUSED'));
await sleep(2500); // longer than it sleeps
const paused = await types();
expect('what is due while it is paused waits', !paused.includes('wait_completed'), paused.join(' '));
everstep('signal', runId, 'RESUME');
const ended = await until(async () => (await world.runs.get(runId)).status === 'completed');
expect('resumed, it goes on and ends', ended, (await types()).join(' '));
let refused = '';
try {
  everstep('signal', runId, 'CANCEL', '--reason', 'late');
} catch (error) {
  refused = String(error.stderr ?? error);
}
expect('a run that has ended takes no signals', refused.includes('RUN_TERMINAL'), refused);
await world.close();
process.exit(failed ? 1 : 0);
