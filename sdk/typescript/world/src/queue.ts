import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { MessageId } from '@workflow/world';
import type { Config } from './config.js';
import type { Connection } from './connection.js';
import { deliverOnce, type Outcome } from './deliveries.js';
import { ulid } from './ids.js';
import { ownPorts, servesWorkflows } from './own-ports.js';
import { processWide } from './process-wide.js';

export interface QueueOptions {
  deploymentId?: string;
  idempotencyKey?: string;
  headers?: Record<string, string>;
  delaySeconds?: number;
}
export interface Sent {
  messageId: MessageId;
}
export type Handler = (
  message: unknown,
  meta: { attempt: number; queueName: string; messageId: MessageId },
) => Promise<unknown>;

const SAY_EVERY_MS = 5_000;
const FIND_PORT_EVERY_MS = 100;
const LOOK_FIRST_MS = 100;
const LOOK_MOST_MS = 5_000;
const LOOKS_AT_PORTS_MAX = 20; // with the pauses above: a minute and a half
const SIGNED_WITHIN_S = 300;

function prefixOf(kind: 'workflow' | 'step', namespace?: string): string {
  return namespace ? `__${namespace}_wkf_${kind}_` : `__wkf_${kind}_`;
}

function toJson(message: unknown): string {
  return JSON.stringify(message, (_key, value) =>
    value instanceof Uint8Array
      ? { __type: 'Uint8Array', data: Buffer.from(value).toString('base64') }
      : value,
  );
}

function fromJson(body: string): unknown {
  return JSON.parse(body, (_key, value) =>
    value !== null && typeof value === 'object' && value.__type === 'Uint8Array' &&
    typeof value.data === 'string'
      ? new Uint8Array(Buffer.from(value.data, 'base64'))
      : value,
  );
}

// The messages of one run form a group: the server delivers those without a key one after another.
function groupOf(message: any): string | undefined {
  const runId = message?.runId ?? message?.workflowRunId;
  return typeof runId === 'string' ? runId : undefined;
}

function deliverySecret(config: Config): string {
  const from = config.deliverySecret ?? config.token ?? 'everstep without authentication';
  return createHmac('sha256', from).update('everstep delivery 1').digest('hex');
}

function isSigned(secret: string, signature: string, signed: string, now: number): boolean {
  const parts = Object.fromEntries(
    signature.split(',').map((part) => part.split('=', 2) as [string, string]),
  );
  if (!parts.t || !parts.v1 || Math.abs(now / 1000 - Number(parts.t)) > SIGNED_WITHIN_S) return false;
  const wanted = createHmac('sha256', secret).update(`${parts.t}.${signed}`).digest();
  const given = Buffer.from(parts.v1, 'hex');
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

// One id per address that this process serves: several worlds with that address are one
// application.
function registrationId(address: string): string {
  const ids = processWide('registrations', () => new Map<string, string>());
  let id = ids.get(address);
  if (!id) ids.set(address, (id = randomUUID()));
  return id;
}

export function createQueue(connect: () => Connection, configure: () => Config) {
  let id: string | undefined; // the registered id
  let timer: NodeJS.Timeout | undefined;
  let lookTimer: NodeJS.Timeout | undefined;
  let looking = false;
  let registered = false;
  let closed = false;
  let isApplication = false; // the process has declared itself an application
  const answered = new Set<number>(); // ports that serve the runtime's routes

  // Only a process that listens receives messages: a command line tool does not. Unless it declared
  // itself an application, its ports are probed, because the stock web UI listens too.
  const appUrl = async (): Promise<string | undefined> => {
    const config = configure();
    if (config.appUrl) return config.appUrl;
    for (const port of await ownPorts()) {
      const base = `http://localhost:${port}`;
      if (!isApplication && !answered.has(port)) {
        if (!(await servesWorkflows(base))) continue;
        answered.add(port);
      }
      return base;
    }
    return undefined;
  };

  const say = async (): Promise<boolean> => {
    const base = await appUrl();
    if (!base || closed) return false;
    const config = configure();
    const route = (kind: 'workflow' | 'step', path: string) => ({
      prefix: prefixOf(kind, config.queueNamespace),
      url: `${base.replace(/\/+$/, '')}/.well-known/workflow/v1/${path}`,
    });
    id = registrationId(`${base} ${config.queueNamespace ?? ''}`);
    await connect().call('queue.register', {
      id,
      secret: deliverySecret(config),
      concurrency: config.concurrency,
      routes: [route('workflow', 'flow'), route('step', 'step')],
    });
    return true;
  };

  const sayAgain = (after: number): void => {
    clearTimeout(timer);
    timer = undefined;
    if (closed) return;
    timer = setTimeout(() => {
      say().then(said, () => sayAgain(SAY_EVERY_MS));
    }, after);
    timer.unref();
  };

  // A process that listens but is not an application is probed again when it sends its next
  // message.
  const said = async (done: boolean): Promise<void> => {
    registered = done;
    if (done) sayAgain(SAY_EVERY_MS);
    else if (isApplication || (await ownPorts()).length === 0) sayAgain(FIND_PORT_EVERY_MS);
    else timer = undefined;
  };

  const begin = async (): Promise<void> => {
    if (registered || timer || looking || closed) return;
    looking = true;
    try {
      await said(await say());
    } finally {
      looking = false;
    }
  };

  // A process that serves the runtime's routes is an application, whether it declares it or not:
  // messages may have been waiting since before it started. Until it listens, this costs a look at
  // its sockets now and then, and does not keep the process alive.
  const lookForApplication = (after: number, looksLeft: number): void => {
    lookTimer = setTimeout(async () => {
      if (closed || registered || isApplication) return;
      let left = looksLeft;
      try {
        for (const port of await ownPorts()) {
          if (left === looksLeft) left -= 1;
          if (!(await servesWorkflows(`http://localhost:${port}`))) continue;
          answered.add(port);
          await begin();
          break;
        }
      } catch {
        // The server is unreachable, or the configuration cannot be read: try again later.
      }
      if (!registered && left > 0) lookForApplication(Math.min(1.5 * after, LOOK_MOST_MS), left);
    }, after);
    lookTimer.unref();
  };
  lookForApplication(LOOK_FIRST_MS, LOOKS_AT_PORTS_MAX);

  return {
    async start(): Promise<void> {
      isApplication = true;
      await begin();
    },
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      clearTimeout(lookTimer);
      if (registered) await connect().call('queue.unregister', { id }).catch(() => undefined);
    },
    async getDeploymentId(): Promise<string> {
      return configure().deploymentId;
    },
    async queue(queueName: string, message: unknown, options?: QueueOptions): Promise<Sent> {
      const sent = connect().call<Sent>('queue.send', {
        id: `msg_${ulid()}`,
        queue: queueName,
        group: groupOf(message),
        key: options?.idempotencyKey,
        delaySeconds: options?.delaySeconds,
        headers: options?.headers,
        body: Buffer.from(toJson(message)),
      });
      begin().catch(() => undefined);
      return { messageId: (await sent).messageId };
    },
    createQueueHandler(prefix: string, handler: Handler): (request: Request) => Promise<Response> {
      return async (request) => {
        const header = (name: string) => request.headers.get(`everstep-${name}`) ?? '';
        const queueName = header('queue');
        const messageId = header('message-id') as MessageId;
        const attempt = Number(header('attempt'));
        if (!queueName || !messageId || !(attempt >= 1)) {
          return Response.json({ error: 'Missing required headers' }, { status: 400 });
        }
        const body = await request.text();
        const signed = `${queueName}.${messageId}.${header('attempt')}.${body}`;
        const secret = deliverySecret(configure());
        if (!isSigned(secret, header('signature'), signed, Date.now())) {
          return Response.json({ error: 'Invalid signature' }, { status: 401 });
        }
        if (!queueName.startsWith(prefix)) {
          return Response.json({ error: 'Unhandled queue' }, { status: 400 });
        }
        const handle = async (): Promise<Outcome> => {
          try {
            const result = await handler(fromJson(body), { attempt, queueName, messageId });
            const { timeoutSeconds } = (result ?? {}) as { timeoutSeconds?: unknown };
            const again = typeof timeoutSeconds === 'number';
            return { status: 200, body: again ? { timeoutSeconds } : { ok: true } };
          } catch (error) {
            return { status: 500, body: String(error) };
          }
        };
        const outcome = await deliverOnce(queueName, messageId, handle);
        return Response.json(outcome.body, { status: outcome.status });
      };
    },
  };
}
