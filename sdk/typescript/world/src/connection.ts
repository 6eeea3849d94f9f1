import { decode, encode } from './cbor.js';
import { EverstepWorldError, transportError, type ServerError } from './errors.js';
import type { Answer } from './http-answer.js';
import { HttpSockets } from './http-sockets.js';

export interface ConnectionOptions {
  url: string;
  token?: string;
  spec: number;
  queueNamespace?: string;
  ca?: string | Buffer; // PEM: CA certificates for the server
  retryForMs?: number; // how long a call is retried while the server is unreachable
}

type Args = Record<string, unknown>;
interface Waiting {
  args: Args;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const CALLS_PER_REQUEST = 500;
const REQUESTS_AT_ONCE = 4;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

// The server was reached but its certificate was refused; retrying does not help.
const isUntrusted = (error: unknown): error is Error =>
  /CERT|^UNABLE_TO_|^INVALID_|^HOSTNAME_/.test((error as NodeJS.ErrnoException).code ?? '');

// Calls that can be made again whatever happened to them.
const isRead = (one: Waiting): boolean => /\.(get|list|listByCorrelationId|read)$/.test(String(one.args.m));

const TOO_LARGE = 413;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

// Calls to the server. Concurrent calls are batched into one request, over keep-alive connections.
// A request without an answer is repeated: every call that is not idempotent by itself carries an
// id by which the server detects duplicates.
export class Connection {
  private readonly sockets: HttpSockets;
  private readonly endpoint: URL;
  private waiting: Waiting[] = [];
  private scheduled = false;
  private underWay = 0;

  constructor(private readonly options: ConnectionOptions) {
    this.endpoint = new URL('v1/devkit', options.url.endsWith('/') ? options.url : `${options.url}/`);
    this.sockets = new HttpSockets({
      endpoint: this.endpoint,
      headers: {
        'content-type': 'application/cbor',
        ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
      },
      ...(options.ca ? { ca: options.ca } : {}),
    });
  }

  call<T>(method: string, args: Args): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({
        args: { m: method, ...args },
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.schedule();
    });
  }

  // A call that may take long is not batched.
  async callAlone<T>(method: string, args: Args, signal?: AbortSignal): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const one: Waiting = {
        args: { m: method, ...args },
        resolve: resolve as (value: unknown) => void,
        reject,
      };
      void this.send([one], signal);
    });
  }

  close(): void {
    this.sockets.close();
  }

  private schedule(): void {
    if (this.scheduled || this.underWay >= REQUESTS_AT_ONCE) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      void this.flush();
    });
  }

  private async flush(): Promise<void> {
    if (this.waiting.length === 0) return;
    const batch = this.waiting.splice(0, CALLS_PER_REQUEST);
    this.underWay += 1;
    if (this.waiting.length > 0) this.schedule();
    await this.send(batch);
    this.underWay -= 1;
    if (this.waiting.length > 0) this.schedule();
  }

  private async send(batch: Waiting[], signal?: AbortSignal): Promise<void> {
    try {
      const { spec, queueNamespace: namespace } = this.options;
      const body = encode({ spec, namespace, calls: batch.map((one) => one.args) });
      const answers = (await this.post(body, signal)) as [number, unknown][];
      const alone: Waiting[] = []; // their answers did not fit beside the others
      batch.forEach((one, i) => {
        const [failed, value] = answers[i]!;
        if (!failed) one.resolve(value);
        else if (batch.length > 1 && isRead(one) && (value as ServerError).status === TOO_LARGE) alone.push(one);
        else one.reject(new EverstepWorldError(value as ServerError));
      });
      for (const one of alone) await this.send([one], signal);
    } catch (error) {
      if (batch.length > 1 && error instanceof EverstepWorldError && error.status === TOO_LARGE) {
        const half = batch.length >> 1;
        await this.send(batch.slice(0, half), signal);
        await this.send(batch.slice(half), signal);
        return;
      }
      for (const one of batch) one.reject(error as Error);
    }
  }

  private async post(body: Buffer, signal?: AbortSignal): Promise<unknown> {
    const until = Date.now() + (this.options.retryForMs ?? 60_000);
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      let failure: Error;
      let wait = pause;
      try {
        const answer = await this.sockets.post(body, signal);
        if (answer.status === 200) return decode(answer.body);
        failure = this.refusal(answer);
        const mayPass = answer.status === 429 || answer.status >= 500;
        if (!mayPass) throw failure;
        if (answer.retryAfter > 0) wait = answer.retryAfter * 1000;
      } catch (error) {
        if (error instanceof EverstepWorldError || signal?.aborted) throw error;
        if (isUntrusted(error)) {
          throw transportError(
            `Everstep at ${this.endpoint.origin} is not trusted: ${error.message}. ` +
              'Set EVERSTEP_CA_FILE to a PEM file with its CA certificate.',
            error,
          );
        }
        failure = transportError(
          `Everstep at ${this.endpoint.origin} is unreachable: ${(error as Error).message || (error as NodeJS.ErrnoException).code}`,
          error,
        );
      }
      if (Date.now() + wait > until) throw failure;
      await sleep(wait * (0.75 + Math.random() / 2));
    }
  }

  private refusal(answer: Answer): EverstepWorldError {
    let detail = answer.body.toString('utf8').slice(0, 500);
    let code: string | undefined;
    try {
      const problem = JSON.parse(detail) as { detail?: string; title?: string; code?: string };
      detail = problem.detail ?? problem.title ?? detail;
      code = problem.code;
    } catch {
      // Not a problem document: the answer may come from a proxy.
    }
    return new EverstepWorldError({
      message: `Everstep answered ${answer.status}: ${detail}`,
      status: answer.status,
      ...(code ? { code } : {}),
    });
  }
}
