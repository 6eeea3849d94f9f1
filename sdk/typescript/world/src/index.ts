import { hkdfSync } from 'node:crypto';
import * as workflowWorld from '@workflow/world';
import type { World } from '@workflow/world';
import { resolveConfig, type Config, type EverstepWorldOptions } from './config.js';
import { Connection } from './connection.js';
import { createQueue } from './queue.js';
import { createStorage } from './storage.js';
import { createStreams } from './streams.js';

export type { EverstepWorldOptions } from './config.js';
export { EverstepWorldError } from './errors.js';

// The version of the runtime's protocol with which the application was built.
function installedSpec(): number {
  const current = (workflowWorld as { SPEC_VERSION_CURRENT?: number }).SPEC_VERSION_CURRENT;
  return typeof current === 'number' ? current : 3;
}

// What all generations have in common.
function createCommon(spec: number, connect: () => Connection, configure: () => Config) {
  return {
    specVersion: spec,
    capabilities: { hookResumeDedup: true, hookRetention: { active: true } },
    ...createStorage(connect, spec),
    ...createQueue(connect, configure),
    async getEncryptionKeyForRun(run: string | { runId: string }): Promise<Uint8Array | undefined> {
      const secret = configure().encryptionSecret;
      if (!secret) return undefined;
      const runId = typeof run === 'string' ? run : run.runId;
      return new Uint8Array(hkdfSync('sha256', secret, 'everstep run key 1', runId, 32));
    },
  };
}

type Streams = ReturnType<typeof createStreams>;
/** Compatible with the `World` of the installed `@workflow/world`. */
export type EverstepWorld = ReturnType<typeof createCommon> &
  (World extends { streams: unknown } ? { streams: Streams } : ReturnType<typeof flatStreams>);

/**
 * A World for Workflow DevKit on an Everstep server. Creating one makes no request: the environment is
 * read and the server is called on the first call, or once the process serves the runtime's routes and
 * thus receives messages.
 */
export function createWorld(options: EverstepWorldOptions = {}): EverstepWorld {
  const spec = installedSpec();
  let config: Config | undefined;
  let connection: Connection | undefined;
  const configure = () => (config ??= resolveConfig(options));
  const connect = () => {
    if (!connection) {
      const { url, token, ca, queueNamespace, retryForMs } = configure();
      connection = new Connection({
        url,
        spec,
        ...(token ? { token } : {}),
        ...(ca ? { ca } : {}),
        ...(queueNamespace ? { queueNamespace } : {}),
        ...(retryForMs !== undefined ? { retryForMs } : {}),
      });
    }
    return connection;
  };

  const common = createCommon(spec, connect, configure);
  const streams = createStreams(connect);
  const world = {
    ...common,
    async close(): Promise<void> {
      await common.close();
      connection?.close();
    },
  };
  // The installed version is known only at run time; the types were fixed when the application was
  // compiled.
  const placed: unknown = spec >= 4 ? { ...world, streams } : { ...world, ...flatStreams(streams) };
  return placed as EverstepWorld;
}

// Up to version 3 streams are addressed without their run, which is part of their name.
function runOfStream(name: string): string {
  const run = /^strm_([0-9A-HJKMNP-TV-Z]{26})(_|$)/.exec(name)?.[1];
  return run ? `wrun_${run}` : 'none';
}

function flatStreams(streams: Streams) {
  type RunId = string | Promise<string>;
  type Chunk = string | Uint8Array;
  return {
    // This runtime collects chunks for this long before it writes them, and meanwhile the next step
    // may close the stream. It gains little: concurrent calls are one request anyway.
    streamFlushIntervalMs: 1,
    writeToStream: (name: string, _runId: RunId, chunk: Chunk) =>
      streams.write(runOfStream(name), name, chunk),
    writeToStreamMulti: (name: string, _runId: RunId, chunks: Chunk[]) =>
      streams.writeMulti(runOfStream(name), name, chunks),
    closeStream: (name: string, _runId: RunId) => streams.close(runOfStream(name), name),
    readFromStream: (name: string, startIndex?: number) =>
      streams.get(runOfStream(name), name, startIndex),
    listStreamsByRunId: streams.list,
    getStreamChunks: (name: string, _runId: string, page?: { limit?: number; cursor?: string }) =>
      streams.getChunks(runOfStream(name), name, page),
    getStreamInfo: (name: string, _runId: string) => streams.getInfo(runOfStream(name), name),
  };
}

export default createWorld;
