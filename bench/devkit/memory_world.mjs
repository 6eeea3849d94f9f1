// A World without a store: what the runtime itself can do at most on this machine. It keeps to the
// rules that the measured workflow touches, and to nothing else.

import { monotonicFactory } from 'ulid';

export function createWorld() {
  const ulid = monotonicFactory();
  const runs = new Map();
  const queueHandlers = (handler) => async (request) => {
    const meta = {
      queueName: request.headers.get('x-vqs-queue-name'),
      messageId: request.headers.get('x-vqs-message-id'),
      attempt: Number(request.headers.get('x-vqs-message-attempt')),
    };
    const body = JSON.parse(await request.text(), (_key, value) =>
      value?.__type === 'Uint8Array' ? new Uint8Array(Buffer.from(value.data, 'base64')) : value,
    );
    const result = await handler(body, meta);
    return Response.json(typeof result?.timeoutSeconds === 'number' ? result : { ok: true });
  };
  const deliver = async (queueName, body, messageId, attempt, headers) => {
    const response = await fetch(`http://127.0.0.1:${process.env.PORT}/.well-known/workflow/v1/flow`, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'x-vqs-queue-name': queueName,
        'x-vqs-message-id': messageId,
        'x-vqs-message-attempt': String(attempt),
      },
      body,
    });
    const answer = await response.json();
    const again = response.ok ? answer.timeoutSeconds : 1;
    if (again !== undefined) setTimeout(deliver, again * 1000, queueName, body, messageId, attempt, headers);
  };
  const since = (state, cursor) => {
    const from = cursor ? state.events.findIndex((event) => event.eventId === cursor) + 1 : 0;
    const events = state.events.slice(from);
    return { events, cursor: state.events.at(-1)?.eventId ?? null, hasMore: false };
  };
  const create = async (id, data, params) => {
    const runId = id ?? `wrun_${ulid()}`;
    const now = new Date();
    let state = runs.get(runId);
    const given = data.eventData ?? {};
    const append = (event) => {
      const stored = { ...event, specVersion: 5, runId, eventId: `evnt_${ulid()}`, createdAt: now };
      state.events.push(stored);
      return stored;
    };
    const makeRun = () => {
      const run = { ...given, runId, status: 'pending', specVersion: 5, attributes: {}, createdAt: now, updatedAt: now };
      runs.set(runId, (state = { run, steps: new Map(), events: [] }));
      append({ eventType: 'run_created', eventData: given });
    };
    const { correlationId: stepId } = data;
    switch (data.eventType) {
      case 'run_created':
        makeRun();
        return { event: state.events.at(-1), run: state.run };
      case 'run_started': {
        if (!state) makeRun();
        if (state.run.status === 'pending') {
          Object.assign(state.run, { status: 'running', startedAt: now });
          append({ eventType: 'run_started' });
        }
        return { event: state.events.at(-1), run: state.run, ...since(state) };
      }
      case 'step_created':
      case 'step_started': {
        let step = state.steps.get(stepId);
        const made = !step;
        if (made) {
          step = { runId, stepId, stepName: given.stepName, input: given.input, status: 'pending', attempt: 0, createdAt: now, updatedAt: now };
          state.steps.set(stepId, step);
          append({ eventType: 'step_created', correlationId: stepId, eventData: given });
        }
        if (data.eventType === 'step_created') return { event: state.events.at(-1), step };
        Object.assign(step, { status: 'running', attempt: step.attempt + 1, startedAt: step.startedAt ?? now });
        const event = append({ eventType: 'step_started', correlationId: stepId });
        return { event, step, ...(made ? { stepCreated: true } : {}) };
      }
      case 'step_completed': {
        const step = Object.assign(state.steps.get(stepId), { status: 'completed', output: given.result, completedAt: now });
        const event = append(data);
        return { event, step, ...(params?.sinceCursor ? since(state, params.sinceCursor) : {}) };
      }
      case 'run_completed':
        Object.assign(state.run, { status: 'completed', output: given.output, completedAt: now });
        return { event: append(data), run: state.run };
      default:
        throw new Error(`the memory world does not know ${data.eventType}`);
    }
  };
  const missing = async () => {
    throw new Error('not in the memory world');
  };
  return {
    specVersion: 5,
    getDeploymentId: async () => 'memory',
    async queue(queueName, message, options) {
      const messageId = `msg_${ulid()}`;
      const body = JSON.stringify(message, (_key, value) =>
        value instanceof Uint8Array ? { __type: 'Uint8Array', data: Buffer.from(value).toString('base64') } : value,
      );
      setTimeout(deliver, (options?.delaySeconds ?? 0) * 1000, queueName, body, messageId, 1, options?.headers);
      return { messageId };
    },
    createQueueHandler: (_prefix, handler) => queueHandlers(handler),
    runs: { get: async (id) => runs.get(id).run, list: missing },
    steps: { get: async (id, stepId) => runs.get(id).steps.get(stepId), list: missing },
    events: {
      create,
      get: missing,
      list: async ({ runId, pagination }) => {
        const { events, ...rest } = since(runs.get(runId), pagination?.cursor);
        return { data: events, ...rest };
      },
      listByCorrelationId: missing,
    },
    hooks: { get: missing, getByToken: missing, list: missing },
    streams: { write: missing, close: missing, get: missing, list: missing, getChunks: missing, getInfo: missing },
  };
}
