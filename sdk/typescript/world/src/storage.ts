import type { Connection } from './connection.js';
import { EverstepWorldError } from './errors.js';
import { requestId } from './ids.js';

type Data = Record<string, any>;
// Runs, steps, events and hooks as the server returns them. Their form differs between generations
// of `@workflow/world`; the server uses the generation it is given.
type Entity = any;
export interface Paging {
  limit?: number;
  cursor?: string;
  sortOrder?: 'asc' | 'desc';
}
export interface ListParams {
  pagination?: Paging;
  resolveData?: string;
}
export interface EventRequest {
  eventType: string;
  correlationId?: string;
  specVersion?: number;
  eventData?: Data;
  resumeId?: string;
}
export interface CreateParams {
  resolveData?: string;
  occurredAt?: Date;
  sinceCursor?: string;
  skipPreload?: boolean;
  resumeId?: string; // of hook_received: all with the same id in a run count as one
}
export interface Page<T> {
  data: T[];
  cursor: string | null;
  hasMore: boolean;
}
interface Created {
  eventId?: string;
  createdAt?: Date;
  event?: Data; // set if it differs from the requested one
  run?: Data;
  step?: Data;
  hook?: Data;
  wait?: Data;
  stepCreated?: boolean;
  events?: Data[];
  cursor?: string | null;
  hasMore?: boolean;
}

// Members of event data that are times, which the log stores as texts.
const TIMES = ['resumeAt', 'retryAfter', 'tokenRetentionUntil'];
// Calls that must not be executed twice.
const REPEATS = new Set(['step_started', 'step_retrying', 'hook_received']);
// The opaque member of each event's data.
const OPAQUE: Record<string, string> = {
  run_created: 'input',
  run_started: 'input',
  run_completed: 'output',
  run_failed: 'error',
  step_created: 'input',
  step_started: 'input',
  step_completed: 'result',
  step_failed: 'error',
  step_retrying: 'error',
  hook_created: 'metadata',
  hook_received: 'payload',
};

function reviveTimes(entity: Entity): Entity {
  for (const key of TIMES) {
    if (typeof entity[key] === 'string') entity[key] = new Date(entity[key]);
  }
  return entity;
}

function reviveEvent(event: Entity): Entity {
  if (event.eventData) reviveTimes(event.eventData);
  return event;
}

function pageArgs(params?: { pagination?: Paging | undefined; resolveData?: string }): Data {
  return { ...params?.pagination, resolveData: params?.resolveData };
}

function page(answer: Page<Entity>, revive: (entity: Entity) => Entity): Page<Entity> {
  return { data: answer.data.map(revive), cursor: answer.cursor, hasMore: answer.hasMore };
}

function named(error: unknown, members: Data): never {
  if (error instanceof EverstepWorldError) Object.assign(error, members);
  throw error;
}

// Builds the recorded event from the request and the server's answer.
function eventOf(runId: string, data: EventRequest, spec: number, params: CreateParams | undefined,
                 created: Created): Data {
  const { eventData, ...rest } = data;
  const event: Data = {
    ...rest,
    specVersion: data.specVersion ?? spec,
    runId: created.run?.runId ?? runId,
    eventId: created.eventId,
    createdAt: created.createdAt,
  };
  if (params?.occurredAt) event.occurredAt = params.occurredAt;
  if (params?.resumeId) event.resumeId = params.resumeId;
  const opaque = OPAQUE[data.eventType];
  const kept = { ...eventData };
  if (data.eventType === 'run_started') return event;
  if (opaque && (params?.resolveData === 'none' || data.eventType === 'step_started')) {
    delete kept[opaque];
  }
  if (Object.keys(kept).length > 0) event.eventData = kept;
  return event;
}

// The opaque parts were in the request, so they are not sent back.
function complete(data: EventRequest, params: CreateParams | undefined, created: Created): void {
  if (params?.resolveData === 'none') return;
  const given = data.eventData;
  if (!given) return;
  switch (data.eventType) {
    case 'run_created':
      if (created.run && given.input !== undefined) created.run.input = given.input;
      break;
    case 'run_completed':
      if (created.run && given.output !== undefined) created.run.output = given.output;
      break;
    case 'step_created':
      if (created.step && given.input !== undefined) created.step.input = given.input;
      break;
    case 'step_started':
      if (created.step && created.stepCreated) created.step.input = given.input;
      break;
    case 'step_completed':
      if (created.step && given.result !== undefined) created.step.output = given.result;
      break;
    case 'hook_created':
      if (created.hook && given.metadata !== undefined) created.hook.metadata = given.metadata;
      break;
  }
}

// Whether the request already contains everything opaque in the answer.
function isLean(data: EventRequest, params?: CreateParams): boolean {
  if (params?.resolveData === 'none') return true;
  switch (data.eventType) {
    case 'run_started':
      return false;
    case 'step_started':
      return data.eventData?.input !== undefined;
    default:
      return true;
  }
}

export function createStorage(connect: () => Connection, spec: number) {
  const create = async (runId: string | null, data: EventRequest, params?: CreateParams) => {
    let created: Created;
    try {
      created = await connect().call<Created>('events.create', {
        runId: runId ?? undefined,
        type: data.eventType,
        correlationId: data.correlationId,
        specVersion: data.specVersion ?? spec,
        data: data.eventData,
        occurredAt: params?.occurredAt,
        requestId: REPEATS.has(data.eventType) ? requestId() : undefined,
        resumeId: params?.resumeId ?? data.resumeId,
        sinceCursor: params?.sinceCursor,
        skipPreload: params?.skipPreload,
        lean: isLean(data, params) || undefined,
      });
    } catch (error) {
      return named(error, { runId: runId ?? undefined, token: data.eventData?.token });
    }
    complete(data, params, created);
    const result: Entity = {};
    if (created.event) result.event = reviveEvent(created.event);
    else if (created.eventId) result.event = eventOf(runId ?? '', data, spec, params, created);
    if (created.run) result.run = created.run;
    if (created.step) result.step = reviveTimes(created.step);
    if (created.hook) result.hook = reviveTimes(created.hook);
    if (created.wait) result.wait = created.wait;
    if (created.stepCreated) result.stepCreated = true;
    if (created.events) {
      result.events = created.events.map(reviveEvent);
      result.cursor = created.cursor ?? params?.sinceCursor ?? null;
      result.hasMore = created.hasMore ?? false;
    }
    return result;
  };

  return {
    runs: {
      async get(id: string, params?: { resolveData?: string }) {
        try {
          return await connect().call<Entity>('runs.get', {
            runId: id,
            resolveData: params?.resolveData,
          });
        } catch (error) {
          return named(error, { runId: id });
        }
      },
      async list(params?: ListParams & { workflowName?: string; status?: string | string[] }) {
        const answer = await connect().call<Page<Entity>>('runs.list', {
          workflowName: params?.workflowName,
          status: params?.status,
          ...pageArgs(params),
        });
        return page(answer, (run) => run);
      },
      async experimentalSetAttributes(
        runId: string,
        changes: { key: string; value: string | null }[],
        options?: { allowReservedAttributes?: boolean },
      ) {
        await create(runId, {
          eventType: 'attr_set',
          eventData: { changes, ...(options?.allowReservedAttributes ? { allowReservedAttributes: true } : {}) },
        });
        const run = await connect().call<Entity>('runs.get', { runId, resolveData: 'none' });
        return { attributes: run.attributes as Record<string, string> };
      },
    },
    steps: {
      async get(runId: string, stepId: string, params?: { resolveData?: string }) {
        return reviveTimes(
          await connect().call<Entity>('steps.get', { runId, stepId, resolveData: params?.resolveData }),
        );
      },
      async list(params: ListParams & { runId: string }) {
        const answer = await connect().call<Page<Entity>>('steps.list', {
          runId: params.runId,
          ...pageArgs(params),
        });
        return page(answer, reviveTimes);
      },
    },
    events: {
      create,
      async get(runId: string, eventId: string, params?: { resolveData?: string }) {
        return reviveEvent(
          await connect().call<Entity>('events.get', { runId, eventId, resolveData: params?.resolveData }),
        );
      },
      async list(params: ListParams & { runId: string }) {
        const read = (pagination?: Paging) =>
          connect().call<Page<Entity>>('events.list', {
            runId: params.runId,
            ...pageArgs({ ...params, pagination }),
          });
        if (spec < 6 || params.pagination?.limit !== undefined) {
          return page(await read(params.pagination), reviveEvent);
        }
        // From version 6 on, a list without a limit returns everything.
        const all: Page<Entity> = { data: [], cursor: null, hasMore: true };
        let cursor = params.pagination?.cursor;
        while (all.hasMore) {
          const next = await read({ ...params.pagination, limit: 1000, ...(cursor ? { cursor } : {}) });
          all.data.push(...next.data);
          cursor = next.cursor ?? cursor;
          all.cursor = next.cursor ?? all.cursor;
          all.hasMore = next.hasMore;
        }
        return page(all, reviveEvent);
      },
      async listByCorrelationId(params: ListParams & { correlationId: string; runId?: string }) {
        const answer = await connect().call<Page<Entity>>('events.listByCorrelationId', {
          runId: params.runId,
          correlationId: params.correlationId,
          ...pageArgs(params),
        });
        return page(answer, reviveEvent);
      },
    },
    hooks: {
      async get(hookId: string, params?: { resolveData?: string }) {
        return reviveTimes(
          await connect().call<Entity>('hooks.get', { hookId, resolveData: params?.resolveData }),
        );
      },
      async getByToken(token: string, params?: { resolveData?: string }) {
        try {
          return reviveTimes(
            await connect().call<Entity>('hooks.get', { token, resolveData: params?.resolveData }),
          );
        } catch (error) {
          return named(error, { token });
        }
      },
      async list(params: ListParams & { runId?: string }) {
        const answer = await connect().call<Page<Entity>>('hooks.list', {
          runId: params?.runId,
          ...pageArgs(params),
        });
        return page(answer, reviveTimes);
      },
    },
  };
}
