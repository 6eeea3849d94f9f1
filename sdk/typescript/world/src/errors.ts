// The runtime identifies errors by name, so it does not matter which copy of a class they use.

export interface ServerError {
  name: string;
  message: string;
  status: number;
  retryAfter?: number;
  code?: string;
}

export class EverstepWorldError extends Error {
  override name: string;
  status?: number;
  code?: string;
  retryAfter?: number;
  runId?: string;
  token?: string;

  constructor(error: Partial<ServerError> & { message: string }, options?: { cause?: unknown }) {
    super(error.message, options);
    this.name = error.name ?? 'WorkflowWorldError';
    if (error.status !== undefined) this.status = error.status;
    if (error.code !== undefined) this.code = error.code;
    if (error.retryAfter !== undefined) this.retryAfter = error.retryAfter;
  }
}

// The server was unreachable or did not understand the request: the runtime tries again later.
export function transportError(message: string, cause?: unknown): EverstepWorldError {
  return new EverstepWorldError(
    { name: 'WorkflowWorldError', message, status: 503, code: 'TRANSPORT' },
    { cause },
  );
}
