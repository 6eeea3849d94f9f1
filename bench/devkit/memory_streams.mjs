// The streams of the in-memory world.

export function memoryStreams() {
  const streams = new Map(); // run id to its streams by name
  const find = (runId, name) => {
    if (!streams.has(runId)) streams.set(runId, new Map());
    const ofRun = streams.get(runId);
    if (!ofRun.has(name)) ofRun.set(name, { chunks: [], done: false, waiting: [] });
    return ofRun.get(name);
  };
  const change = (stream, how) => {
    if (stream.done) return;
    how(stream);
    for (const wake of stream.waiting.splice(0)) wake();
  };
  const writeMulti = async (runId, name, chunks) =>
    change(find(await runId, name), (stream) => stream.chunks.push(...chunks.map((chunk) => new Uint8Array(Buffer.from(chunk)))));
  return {
    write: (runId, name, chunk) => writeMulti(runId, name, [chunk]),
    writeMulti,
    close: async (runId, name) => change(find(await runId, name), (stream) => (stream.done = true)),
    async get(runId, name, startIndex = 0) {
      const stream = find(runId, name);
      let next = startIndex < 0 ? Math.max(0, stream.chunks.length + startIndex) : startIndex;
      return new ReadableStream({
        async pull(controller) {
          for (;;) {
            while (next < stream.chunks.length) {
              const chunk = stream.chunks[next++];
              if (chunk.length > 0) return controller.enqueue(chunk);
            }
            if (stream.done) return controller.close();
            await new Promise((resolve) => stream.waiting.push(resolve));
          }
        },
      });
    },
    list: async (runId) => [...(streams.get(runId)?.keys() ?? [])],
    async getChunks(runId, name, { limit = 100, cursor } = {}) {
      const { chunks, done } = find(runId, name);
      const from = Number(cursor ?? 0);
      const data = chunks.slice(from, from + limit).map((chunk, i) => ({ index: from + i, data: chunk }));
      const next = from + data.length;
      const hasMore = next < chunks.length;
      return { data, cursor: hasMore ? String(next) : null, hasMore, done: done && !hasMore };
    },
    async getInfo(runId, name) {
      const { chunks, done } = find(runId, name);
      return { tailIndex: chunks.length - 1, done };
    },
  };
}
