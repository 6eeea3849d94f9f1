// The suite's application as a separate process, and checks described by sentences.

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.cwd(), 'x.js'));
const suite = path.dirname(require.resolve('@workflow/world-testing'));

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export async function until(holds) {
  for (let i = 0; i < 200; ++i) {
    if (await holds()) return true;
    await sleep(50);
  }
  return false;
}

export let failed = false;
export function expect(sentence, holds, more = '') {
  console.log(`${holds ? 'ok' : 'not ok'} - ${sentence}`);
  if (!holds) console.log(`#   ${typeof more === 'string' ? more : JSON.stringify(more)}`);
  failed ||= !holds;
}

// Starts a workflow of the suite and returns the id of its run.
export async function startApplication() {
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
  return async (file, workflow, args) => {
    const invoked = await fetch(`${url}/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ file: `workflows/${file}.ts`, workflow, args }),
    });
    return (await invoked.json()).runId;
  };
}
