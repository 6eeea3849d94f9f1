// A paused run gets no deliveries; once resumed, it continues and ends. Needs EVERSTEP_URL.
// Usage: node pause.mjs PROGRAM

import { execFileSync } from 'node:child_process';
import { createWorld } from '@everstep/world';
import { expect, failed, sleep, startApplication, until } from './application.mjs';

const [program] = process.argv.slice(2);
const everstep = (...args) =>
  execFileSync(program, [...args, '--server', process.env.EVERSTEP_URL], { encoding: 'utf8' });

const start = await startApplication();
const world = createWorld();
const runId = await start('inline-execution', 'sleepWorkflow', []);
const types = async () => (await world.events.list({ runId, pagination: { limit: 1000 } })).data.map((event) => event.eventType);
const sleeps = await until(async () => (await types()).includes('wait_created'));
expect('a run sleeps', sleeps, (await types()).join(' '));
everstep('signal', runId, 'PAUSE', '--reason', 'audit');
expect('why reports that it is paused', everstep('why', runId).includes('paused'));
expect('show reports that it is paused', everstep('show', runId).includes('PAUSED'));
await sleep(2500); // longer than its sleep
const paused = await types();
expect('nothing fires while the run is paused', !paused.includes('wait_completed'), paused.join(' '));
everstep('signal', runId, 'RESUME');
const ended = await until(async () => (await world.runs.get(runId)).status === 'completed');
expect('once resumed, it continues and ends', ended, (await types()).join(' '));
let refused = '';
try {
  everstep('signal', runId, 'CANCEL', '--reason', 'late');
} catch (error) {
  refused = String(error.stderr ?? error);
}
expect('a run that has ended refuses signals', refused.includes('RUN_TERMINAL'), refused);
await world.close();
process.exit(failed ? 1 : 0);
