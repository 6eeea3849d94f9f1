import type { Connection } from './connection.js';
import { requestId } from './ids.js';

type RunId = string | Promise<string>;
type Chunk = string | Uint8Array;
interface Read {
  first: number;
  chunks: Uint8Array[];
  count: number;
  done: boolean;
}

const WAIT_MS = 25_000;
const CHUNKS_PER_PAGE = 100;
const CHUNKS_PER_WRITE = 1_000;
const NAMES_PER_PAGE = 1_000;

const toBytes = (chunk: Chunk): Uint8Array =>
  typeof chunk === 'string' ? Buffer.from(chunk) : chunk;

export function createStreams(connect: () => Connection) {
  const writing = new Map<string, Set<Promise<unknown>>>(); // by stream name

  const writePart = async (runId: RunId, name: string, chunks: Chunk[]): Promise<void> => {
    // The id is created before the run's id is known, so that writes keep their order.
    const args = { name, requestId: requestId(), chunks: chunks.map(toBytes) };
    await connect().call('streams.write', { runId: await runId, ...args });
  };

  const writeAll = async (runId: RunId, name: string, chunks: Chunk[]): Promise<void> => {
    for (let i = 0; i === 0 || i < chunks.length; i += CHUNKS_PER_WRITE) {
      await writePart(runId, name, chunks.slice(i, i + CHUNKS_PER_WRITE));
    }
  };

  const write = async (runId: RunId, name: string, chunks: Chunk[]): Promise<void> => {
    const call = writeAll(runId, name, chunks);
    const calls = writing.get(name) ?? new Set();
    writing.set(name, calls.add(call));
    try {
      await call;
    } finally {
      calls.delete(call);
      if (calls.size === 0 && writing.get(name) === calls) writing.delete(name);
    }
  };

  const read = (runId: string, name: string, startIndex = 0): ReadableStream<Uint8Array> => {
    let next = startIndex;
    const abort = new AbortController();
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          for (;;) {
            const page = await connect().callAlone<Read>(
              'streams.read',
              { runId, name, startIndex: next, waitMs: WAIT_MS },
              abort.signal,
            );
            // Relative to the end, the position is only known once the stream exists.
            if (next >= 0 || page.count > 0 || page.done) next = page.first + page.chunks.length;
            const chunks = page.chunks.filter((chunk) => chunk.length > 0);
            for (const chunk of chunks) controller.enqueue(chunk);
            if (page.done && next >= page.count) return controller.close();
            if (chunks.length > 0) return;
          }
        },
        cancel() {
          abort.abort();
        },
      },
      { highWaterMark: 0 },
    );
  };

  return {
    write: (runId: RunId, name: string, chunk: Chunk) => write(runId, name, [chunk]),
    writeMulti: (runId: RunId, name: string, chunks: Chunk[]) => write(runId, name, chunks),
    // Writes of a step may still be in flight when the next step closes the stream.
    async close(runId: RunId, name: string): Promise<void> {
      await Promise.allSettled(writing.get(name) ?? []);
      await connect().call('streams.close', { runId: await runId, name });
    },
    async get(runId: string, name: string, startIndex?: number): Promise<ReadableStream<Uint8Array>> {
      return read(runId, name, startIndex);
    },
    async list(runId: string): Promise<string[]> {
      const all: string[] = [];
      for (;;) {
        const after = all.at(-1);
        const names = await connect().call<string[]>('streams.list', {
          runId,
          limit: NAMES_PER_PAGE,
          ...(after === undefined ? {} : { after }),
        });
        all.push(...names);
        if (names.length < NAMES_PER_PAGE) return all;
      }
    },
    async getChunks(runId: string, name: string, options?: { limit?: number; cursor?: string }) {
      const page = await connect().call<Read>('streams.read', {
        runId,
        name,
        startIndex: options?.cursor ? Number(options.cursor) : 0,
        limit: Math.min(options?.limit ?? CHUNKS_PER_PAGE, 1000),
      });
      const next = page.first + page.chunks.length;
      const hasMore = next < page.count;
      return {
        data: page.chunks.map((data, i) => ({ index: page.first + i, data })),
        cursor: hasMore ? String(next) : null,
        hasMore,
        done: page.done && !hasMore,
      };
    },
    async getInfo(runId: string, name: string): Promise<{ tailIndex: number; done: boolean }> {
      const page = await connect().call<Read>('streams.read', { runId, name, limit: 1 });
      return { tailIndex: page.count - 1, done: page.done };
    },
  };
}
