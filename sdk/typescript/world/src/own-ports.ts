import { readdirSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

// The framework may have to compile the route first.
const ANSWERS_WITHIN_MS = 30_000;

// Empty if the system has no such table, as for IPv6 when it is disabled.
const readTable = (name: string) => readFile(`/proc/self/net/${name}`, 'utf8').catch(() => '');

// The ports that this process listens on, lowest first. Empty if the system does not provide them.
// The kernel takes many milliseconds to produce the tables; the application continues meanwhile.
async function listeningPorts(): Promise<number[]> {
  try {
    const tables = await Promise.all(['tcp', 'tcp6'].map(readTable));
    const sockets = new Set<string>();
    for (const fd of readdirSync('/proc/self/fd')) {
      try {
        const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
        if (inode) sockets.add(inode);
      } catch {
        // Closed in the meantime.
      }
    }
    const ports = new Set<number>();
    for (const table of tables) {
      for (const line of table.split('\n').slice(1)) {
        const fields = line.trim().split(/\s+/);
        if (fields[3] !== '0A' || !sockets.has(fields[9] ?? '')) continue;
        ports.add(parseInt(fields[1]!.split(':')[1]!, 16));
      }
    }
    return [...ports].sort((a, b) => a - b);
  } catch {
    return [];
  }
}

// Ports where this process may serve its application, the most likely first.
export async function ownPorts(): Promise<number[]> {
  const ports = await listeningPorts();
  const wanted = Number(process.env.PORT) || undefined;
  if (!wanted || (!ports.includes(wanted) && process.platform === 'linux')) return ports;
  return [wanted, ...ports.filter((port) => port !== wanted)];
}

// Whether the port serves the runtime's routes.
export async function servesWorkflows(base: string): Promise<boolean> {
  try {
    const response = await fetch(`${base}/.well-known/workflow/v1/flow?__health`, {
      method: 'POST',
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    });
    return ((await response.json()) as { healthy?: boolean }).healthy === true;
  } catch {
    return false;
  }
}
