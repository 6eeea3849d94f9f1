// Runs the same work on each world. Alternates between the worlds, because the speed of the machine may vary over time.
// Usage: node bench.mjs EVERSTEP [--seconds N] [--only everstep|memory|local|postgres] [--json FILE]

import { execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const [everstep, ...options] = process.argv.slice(2);
const option = (name) => options[options.indexOf(`--${name}`) + 1];
const seconds = Number(options.includes('--seconds') ? option('seconds') : 12);
const only = options.includes('--only') ? option('only') : undefined;
const here = path.dirname(fileURLToPath(import.meta.url));
let folder; // of the current world
const children = [];
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
const ticks = Number(execFileSync('getconf', ['CLK_TCK']));
const cpuMs = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / ticks) * 1000;
};

async function startEverstep() {
  const port = await freePort();
  const server = spawn(everstep, ['serve', '--dev', '--data', path.join(folder, 'data'), '--listen', `127.0.0.1:${port}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(server);
  await new Promise((resolve) => server.stdout.once('data', resolve));
  return { env: { EVERSTEP_URL: `http://127.0.0.1:${port}` }, pid: server.pid };
}

async function startPostgres() {
  const data = path.join(folder, 'postgres');
  const bin = process.env.POSTGRES_BIN ?? '/usr/lib/postgresql/15/bin';
  // PostgreSQL refuses to run as root.
  const root = process.getuid() === 0;
  const as = root ? { uid: Number(execFileSync('id', ['-u', 'postgres'])), gid: Number(execFileSync('id', ['-g', 'postgres'])) } : {};
  if (root) execFileSync('chown', ['postgres', folder]);
  execFileSync(path.join(bin, 'initdb'), ['-D', data, '-U', 'world', '--auth=trust', '-E', 'UTF8'], { ...as, stdio: 'ignore' });
  const port = await freePort();
  const server = spawn(path.join(bin, 'postgres'), ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1',
    '-c', `unix_socket_directories=${data}`, '-c', 'shared_buffers=256MB', '-c', 'max_connections=200'], { ...as, stdio: 'ignore' });
  children.push(server);
  const url = `postgres://world@127.0.0.1:${port}/postgres`;
  const env = { ...process.env, WORKFLOW_POSTGRES_URL: url };
  for (let i = 0; ; ++i) {
    try {
      execFileSync(process.execPath, [path.join(here, 'node_modules/@workflow/world-postgres/bin/setup.js')], { env, cwd: here, stdio: 'ignore' });
      break;
    } catch (error) {
      if (i === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  return { env: { WORKFLOW_POSTGRES_URL: url } };
}

const WORLDS = {
  memory: { module: './memory_world.mjs', begin: async () => ({ env: {} }) },
  everstep: { module: '@everstep/world', begin: startEverstep },
  local: {
    module: '@workflow/world-local',
    begin: async () => ({ env: { WORKFLOW_LOCAL_DATA_DIR: path.join(folder, 'local') } }),
  },
  postgres: { module: '@workflow/world-postgres', begin: startPostgres },
};

const TURNS = 3;
const EVENTS_PER_CHAIN = 33; // in the worker's part `events`
const PARTS = [
  ['runs', 1],
  ['runs', 50],
  ['events', 1],
  ['events', 50],
];

// Starts a world with its application. Only one may exist at a time, because some use CPU even when idle.
async function begin(name) {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-bench-'));
  const { env, pid } = await WORLDS[name].begin();
  const worker = fork(path.join(here, 'worker.mjs'), [WORLDS[name].module], {
    cwd: here,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  children.push(worker);
  const died = (code) => {
    console.error(`${name}: the application ended with ${code}`);
    process.exit(1);
  };
  worker.on('exit', died);
  await once(worker, 'message');
  return { worker, pid, expectEnd: () => worker.off('exit', died) };
}

async function end() {
  const ended = children.map((child) => child.exitCode === null && child.signalCode === null && once(child, 'exit'));
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(ended);
  children.length = 0;
  rmSync(folder, { recursive: true, force: true });
}

async function measure({ worker, pid }, [part, concurrency], sum) {
  const before = pid ? cpuMs(pid) : 0;
  worker.send({ part, concurrency, seconds: seconds / TURNS });
  const [done] = await once(worker, 'message');
  sum.times.push(...done.times);
  sum.seconds += done.seconds;
  sum.cpuMs += done.cpuMs;
  sum.serverCpuMs += pid ? cpuMs(pid) - before : 0;
}

const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
const runsOf = ({ times, ...sum }) => ({
  perSecond: times.length / sum.seconds,
  p50Ms: median(times),
  cpuMs: sum.cpuMs / times.length,
  serverCpuMs: sum.serverCpuMs / times.length,
});
const eventsOf = ({ times, ...sum }) => ({
  perSecond: (times.length * EVENTS_PER_CHAIN) / sum.seconds,
  p50Ms: median(times) / (EVENTS_PER_CHAIN + 1),
  cpuMs: sum.cpuMs / times.length / EVENTS_PER_CHAIN,
});

const names = Object.keys(WORLDS).filter((name) => !only || name === only);
const sums = Object.fromEntries(
  names.map((name) => [name, PARTS.map(() => ({ times: [], seconds: 0, cpuMs: 0, serverCpuMs: 0 }))]),
);
for (let turn = 0; turn < TURNS; ++turn) {
  for (const name of names) {
    const world = await begin(name);
    for (let part = 0; part < PARTS.length; ++part) await measure(world, PARTS[part], sums[name][part]);
    world.expectEnd();
    await end();
  }
}

const results = {};
for (const name of names) {
  const [alone, together, eventsAlone, eventsTogether] = sums[name];
  const runs1 = runsOf(alone);
  const runs50 = runsOf(together);
  const events1 = eventsOf(eventsAlone);
  const events50 = eventsOf(eventsTogether);
  results[name] = { runs1, runs50, events1, events50 };
  const row = [
    name.padEnd(9),
    `10-step runs/s: ${runs1.perSecond.toFixed(1)} alone (p50 ${runs1.p50Ms.toFixed(0)} ms), ${runs50.perSecond.toFixed(1)} at 50 (p50 ${runs50.p50Ms.toFixed(0)} ms)`,
    `events/s: ${events1.perSecond.toFixed(0)} alone, ${events50.perSecond.toFixed(0)} at 50`,
    `application CPU/run ${runs50.cpuMs.toFixed(1)} ms`,
    runs1.serverCpuMs > 0 ? `server CPU/run ${runs1.serverCpuMs.toFixed(2)} ms alone, ${runs50.serverCpuMs.toFixed(2)} ms at 50` : '',
  ];
  console.log(row.filter(Boolean).join('  '));
}
const ours = results.everstep;
const against = (what, value, target) =>
  console.log(`${what}: ${value.toFixed(2)} (target ${target})${value >= target ? '' : ' MISSED'}`);
if (ours && results.postgres) {
  against('events at 50, of postgres', ours.events50.perSecond / results.postgres.events50.perSecond, 10);
  against('runs at 50, of postgres', ours.runs50.perSecond / results.postgres.runs50.perSecond, 2.5);
}
if (ours && results.memory) {
  against('runs at 50, of the ceiling', ours.runs50.perSecond / results.memory.runs50.perSecond, 0.8);
  against('runs alone, of the ceiling', ours.runs1.perSecond / results.memory.runs1.perSecond, 0.6);
}
if (ours) {
  const { serverCpuMs } = ours.runs50;
  console.log(`server CPU per run at 50: ${serverCpuMs.toFixed(2)} ms (target under 2)${serverCpuMs < 2 ? '' : ' MISSED'}`);
}
if (options.includes('--json')) writeFileSync(option('json'), JSON.stringify(results));
process.exit(0);
