import * as net from 'node:net';
import * as tls from 'node:tls';
import { AnswerReader, type Answer } from './http-answer.js';

export interface HttpSocketsOptions {
  endpoint: URL;
  headers: Record<string, string>;
  ca?: string | Buffer;
}

const SOCKETS_MAX = 64;
// A larger body is not copied into one buffer with its head.
const COPIED_BYTES_MAX = 64 * 1024;

// A connection with at most one request in flight.
class KeptSocket {
  private reader = new AnswerReader();
  private settle: ((failure: Error | undefined, answer?: Answer) => void) | undefined;
  private failure: Error | undefined;
  closed = false;

  constructor(
    private readonly socket: net.Socket,
    onClose: () => void,
  ) {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 10_000);
    socket.on('data', (part: Buffer) => {
      this.reader.add(part);
      if (this.settle) this.tryAnswer(false);
      else socket.destroy(); // there is no request in flight
    });
    socket.on('error', (error) => (this.failure = error));
    socket.on('close', () => {
      this.closed = true;
      onClose();
      if (!this.failure) this.tryAnswer(true);
      const lost = Object.assign(new Error('the connection was closed before the response arrived'), { code: 'ECONNRESET' });
      this.settle?.(this.failure ?? lost);
    });
  }

  exchange(head: string, body: Buffer, signal?: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const abort = () => this.socket.destroy(signal!.reason as Error);
      this.settle = (failure, answer) => {
        this.settle = undefined;
        signal?.removeEventListener('abort', abort);
        this.socket.unref(); // an idle connection must not keep the process alive
        if (failure) reject(failure);
        else resolve(answer!);
      };
      this.reader = new AnswerReader();
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort);
      this.socket.ref();
      if (body.length <= COPIED_BYTES_MAX) {
        this.socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]));
        return;
      }
      this.socket.cork();
      this.socket.write(head, 'latin1');
      this.socket.write(body);
      this.socket.uncork();
    });
  }

  get reusable(): boolean {
    return !this.closed && this.reader.keepAlive;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private tryAnswer(closed: boolean): void {
    try {
      const answer = this.reader.take(closed);
      if (answer) this.settle?.(undefined, answer);
    } catch (error) {
      this.settle?.(error as Error);
      this.socket.destroy();
    }
  }
}

// POSTs to one address over keep-alive connections. The runtime waits for every call, and Node's
// own client takes two to three times the CPU per call.
export class HttpSockets {
  private readonly headStart: string;
  private readonly open = new Set<KeptSocket>();
  private readonly idle: KeptSocket[] = []; // a stack: the last one used is used next
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly options: HttpSocketsOptions) {
    const { endpoint, headers } = options;
    const lines = Object.entries(headers).map(([name, value]) => {
      if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new TypeError(`the value of ${name} cannot be sent in a header`);
      return `${name}: ${value}\r\n`;
    });
    this.headStart = `POST ${endpoint.pathname}${endpoint.search} HTTP/1.1\r\nhost: ${endpoint.host}\r\n${lines.join('')}content-length: `;
  }

  async post(body: Buffer, signal?: AbortSignal): Promise<Answer> {
    const socket = await this.take();
    try {
      return await socket.exchange(`${this.headStart}${body.length}\r\n\r\n`, body, signal);
    } finally {
      if (socket.reusable) this.idle.push(socket);
      else socket.destroy();
      this.waiting.shift()?.();
    }
  }

  // Requests in flight fail.
  close(): void {
    for (const socket of this.open) socket.destroy();
  }

  private async take(): Promise<KeptSocket> {
    for (;;) {
      const kept = this.idle.pop();
      if (kept && !kept.closed) return kept;
      if (kept) continue;
      if (this.open.size < SOCKETS_MAX) return this.connect();
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  private connect(): KeptSocket {
    const { endpoint, ca } = this.options;
    const secure = endpoint.protocol === 'https:';
    const host = endpoint.hostname.replace(/^\[|\]$/g, '');
    const port = Number(endpoint.port) || (secure ? 443 : 80);
    const socket = secure
      ? tls.connect({ host, port, ...(net.isIP(host) ? {} : { servername: host }), ...(ca ? { ca } : {}) })
      : net.connect({ host, port });
    const made: KeptSocket = new KeptSocket(socket, () => {
      this.open.delete(made);
      this.waiting.shift()?.();
    });
    this.open.add(made);
    return made;
  }
}
