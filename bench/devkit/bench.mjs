// The same work on each world, one after the other, on this machine.
// Usage: node bench.mjs EVERSTEP [--seconds N] [--only everstep|memory|local|postgres] [--json FILE]

import { execFileSync, fork, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const [everstep, ...options] = process.argv.slice(2);
const option = (name) => options[options.indexOf(`--${name}`) + 1];
const seconds = options.includes('--seconds') ? option('seconds') : '8';
const only = options.includes('--only') ? option('only') : undefined;
const here = path.dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'everstep-bench-'));
const children = [];
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
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
  // The database does not run as root.
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

async function run(world) {
  const { env, pid } = await WORLDS[world].begin();
  const worker = fork(path.join(here, 'worker.mjs'), [WORLDS[world].module, seconds], {
    cwd: here,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  children.push(worker);
  const cpuAt = []; // of the server: before the runs alone, after them, after those at 50
  const answer = await new Promise((resolve, reject) => {
    worker.on('message', (message) => {
      if (message === 'part') cpuAt.push(pid ? cpuMs(pid) : 0);
      else resolve(message);
    });
    worker.on('exit', (code) => reject(new Error(`${world}: the worker ended with ${code}`)));
  });
  if (pid) {
    answer.runs1.serverCpuMs = (cpuAt[1] - cpuAt[0]) / answer.runs1.count;
    answer.runs50.serverCpuMs = (cpuAt[2] - cpuAt[1]) / answer.runs50.count;
  }
  return answer;
}

const results = {};
for (const world of Object.keys(WORLDS)) {
  if (only && world !== only) continue;
  results[world] = await run(world);
  const { runs1, runs50, events1, events50 } = results[world];
  const row = [
    world.padEnd(9),
    `10-step runs/s: ${runs1.perSecond.toFixed(1)} alone (p50 ${runs1.p50Ms.toFixed(0)} ms), ${runs50.perSecond.toFixed(1)} at 50 (p50 ${runs50.p50Ms.toFixed(0)} ms)`,
    `events/s: ${events1.perSecond.toFixed(0)} alone, ${events50.perSecond.toFixed(0)} at 50`,
    `application CPU/run ${runs50.cpuMs.toFixed(1)} ms`,
    runs1.serverCpuMs ? `server CPU/run ${runs1.serverCpuMs.toFixed(2)} ms alone, ${runs50.serverCpuMs.toFixed(2)} ms at 50` : '',
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
