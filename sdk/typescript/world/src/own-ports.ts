import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

// A framework may have to compile the route first.
const ANSWERS_WITHIN_MS = 30_000;

// The ports that this process listens on, the lowest first. Empty where the system does not tell.
function listeningPorts(): number[] {
  try {
    const sockets = new Set<string>();
    for (const fd of readdirSync('/proc/self/fd')) {
      try {
        const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
        if (inode) sockets.add(inode);
      } catch {
        // Closed since.
      }
    }
    const ports = new Set<number>();
    for (const table of ['tcp', 'tcp6']) {
      for (const line of readFileSync(`/proc/self/net/${table}`, 'utf8').split('\n').slice(1)) {
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

// Where this process may serve its application, the likeliest first.
export function ownPorts(): number[] {
  const ports = listeningPorts();
  const wanted = Number(process.env.PORT) || undefined;
  if (!wanted || (!ports.includes(wanted) && process.platform === 'linux')) return ports;
  return [wanted, ...ports.filter((port) => port !== wanted)];
}

// Whether the runtime's routes are there.
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
