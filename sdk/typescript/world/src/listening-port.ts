import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

// The ports that this process listens on, the lowest first. Empty where the system does not tell.
export function listeningPorts(): number[] {
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
