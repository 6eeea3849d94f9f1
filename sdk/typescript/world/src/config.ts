import { readFileSync } from 'node:fs';

// The configuration of a world: from code, or from the environment.
export interface EverstepWorldOptions {
  /** The server's address. `EVERSTEP_URL`, else `http://127.0.0.1:7377`. */
  url?: string;
  /** An API token with the role `system`. `EVERSTEP_TOKEN`, else the content of `EVERSTEP_TOKEN_FILE`. */
  token?: string;
  /** CA certificates for the server, as PEM text. `EVERSTEP_CA_FILE` names a file. */
  ca?: string;
  /**
   * Where the server reaches this application. `EVERSTEP_APP_URL`, else `WORKFLOW_LOCAL_BASE_URL`,
   * else `http://localhost:$PORT`, else the port that this process listens on.
   */
  appUrl?: string;
  /** Maximum concurrent deliveries to this process. `EVERSTEP_CONCURRENCY`, else 100. */
  concurrency?: number;
  /** Signs deliveries; all processes of an application have the same. `EVERSTEP_DELIVERY_SECRET`, else derived from the token. */
  deliverySecret?: string;
  /** Enables encryption of payloads: each run's key is derived from it. `EVERSTEP_ENCRYPTION_SECRET`. */
  encryptionSecret?: string;
  /** `EVERSTEP_DEPLOYMENT_ID`, else `everstep`. */
  deploymentId?: string;
  /** How long calls are retried while the server is unreachable, in ms. Default: a minute. */
  retryForMs?: number;
}

export interface Config {
  url: string;
  token?: string;
  ca?: string;
  appUrl?: string;
  concurrency: number;
  deliverySecret?: string;
  encryptionSecret?: string;
  deploymentId: string;
  queueNamespace?: string; // part of queue names, as in the runtime
  retryForMs?: number;
}

function fileOf(name: string): string | undefined {
  const path = process.env[name];
  if (!path) return undefined;
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new Error(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

// Read on first use: worlds are also created while an application is built.
export function resolveConfig(options: EverstepWorldOptions): Config {
  const env = process.env;
  const optional = {
    token: options.token ?? env.EVERSTEP_TOKEN ?? fileOf('EVERSTEP_TOKEN_FILE'),
    ca: options.ca ?? fileOf('EVERSTEP_CA_FILE'),
    appUrl: options.appUrl ?? env.EVERSTEP_APP_URL ?? env.WORKFLOW_LOCAL_BASE_URL,
    deliverySecret: options.deliverySecret ?? env.EVERSTEP_DELIVERY_SECRET,
    encryptionSecret: options.encryptionSecret ?? env.EVERSTEP_ENCRYPTION_SECRET,
    queueNamespace: env.WORKFLOW_QUEUE_NAMESPACE,
    retryForMs: options.retryForMs,
  };
  return {
    url: options.url ?? env.EVERSTEP_URL ?? 'http://127.0.0.1:7377',
    concurrency: options.concurrency ?? (Number(env.EVERSTEP_CONCURRENCY) || 100),
    deploymentId: options.deploymentId ?? env.EVERSTEP_DEPLOYMENT_ID ?? 'everstep',
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined && value !== ''),
    ) as Partial<Config>),
  };
}
