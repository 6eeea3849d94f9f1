// A World without a store or a network, as an upper bound for the runtime on this machine. Follows the rules of a World
// (spec 5) and delivers messages by calling the application's handler directly.

import { memoryQueue } from './memory_queue.mjs';
import { memoryStreams } from './memory_streams.mjs';

const SPEC = 5;
const ENDED = new Set(['completed', 'failed', 'cancelled']);
const OPAQUE = {
  run_created: 'input', run_completed: 'output', run_failed: 'error', step_created: 'input', step_completed: 'result',
  step_failed: 'error', step_retrying: 'error', hook_created: 'metadata', hook_received: 'payload',
};

function refuse(name, message, more) {
  throw Object.assign(new Error(message), { name, ...more });
}
const conflict = (what) => refuse('EntityConflictError', `${what} conflicts`);
const notFound = (what) => refuse('WorkflowWorldError', `${what} not found`, { status: 404 });

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
let made = 0;
function newId(kind) {
  const digits = (value, length) => {
    let text = '';
    for (; text.length < length; value = Math.floor(value / 32)) text = ALPHABET[value % 32] + text;
    return text;
  };
  return `${kind}_${digits(Date.now(), 10)}${digits((made += 1), 16)}`;
}
function checkRunId(runId) {
  if (!/^wrun_[0-9A-HJKMNP-TV-Z]{26}$/.test(runId)) refuse('WorkflowWorldError', 'invalid run id', { status: 400 });
  let time = 0;
  for (const digit of runId.slice(5, 15)) time = time * 32 + ALPHABET.indexOf(digit);
  const ahead = time - Date.now();
  if (ahead > 300e3 || ahead < -86400e3) refuse('WorkflowWorldError', 'the id has a wrong time', { status: 400 });
}
function checkAttributes(attributes, allowReserved) {
  const entries = Object.entries(attributes);
  const isBad = ([key, value]) => (key.startsWith('$') && !allowReserved) || key.length > 256 || Buffer.byteLength(value) > 256;
  if (entries.length > 64 || entries.some(isBad)) refuse('AttributeValidationError', 'invalid attributes');
  return attributes;
}

// Returns a page of items in order of creation. A cursor is the id of the last item of a page.
function page(all, idOf, pagination, limit, order, show) {
  const { cursor, sortOrder = order } = pagination ?? {};
  const ordered = sortOrder === 'asc' ? all : all.toReversed();
  const from = cursor ? ordered.findIndex((one) => idOf(one) === cursor) + 1 : 0;
  if (cursor && from === 0) refuse('WorkflowWorldError', 'invalid cursor', { status: 400 });
  const data = ordered.slice(from, from + (pagination?.limit ?? limit));
  return {
    data: data.map(show),
    cursor: data.length > 0 ? idOf(data.at(-1)) : null,
    hasMore: from + data.length < ordered.length,
  };
}
const shown = (entity, params) =>
  params?.resolveData === 'none' ? { ...entity, input: undefined, output: undefined } : { ...entity };
const shownHook = (hook, params) => (params?.resolveData === 'none' ? { ...hook, metadata: undefined } : { ...hook });
function shownEvent(event, params) {
  if (params?.resolveData !== 'none' || !event.eventData) return event;
  const { [OPAQUE[event.eventType]]: _, ...kept } = event.eventData;
  const { eventData, ...rest } = event;
  return Object.keys(kept).length > 0 ? { ...rest, eventData: kept } : rest;
}

export function createWorld() {
  const runs = new Map(); // run id to {run, steps, waits, hooks, attributed, events}
  const hooks = new Map();
  const tokens = new Map(); // token to its hook
  const stateOf = (runId) => runs.get(runId) ?? refuse('WorkflowRunNotFoundError', `${runId} not found`);
  const hookOf = (hook) => hook ?? refuse('HookNotFoundError', 'hook not found');
  const preload = (state, cursor) => {
    const events = cursor ? state.events.slice(Number(cursor.slice(5))) : [...state.events];
    return { events, cursor: state.events.at(-1)?.eventId ?? null, hasMore: false };
  };

  const create = async (id, data, params) => {
    const { eventType: type, correlationId } = data;
    const given = data.eventData ?? {};
    const runId = id ?? newId('wrun');
    const now = new Date();
    let state = runs.get(runId);
    const append = (eventType, eventData, of = correlationId) => {
      const event = { eventType, specVersion: data.specVersion ?? SPEC, runId, createdAt: now };
      event.eventId = `evnt_${String(state.events.length + 1).padStart(26, '0')}`;
      if (of !== undefined) event.correlationId = of;
      if (eventData && Object.keys(eventData).length > 0) event.eventData = eventData;
      if (params?.occurredAt) event.occurredAt = params.occurredAt;
      state.events.push(event);
      state.run.updatedAt = now;
      return event;
    };
    const makeRun = () => {
      checkRunId(runId);
      const { attributes = {}, allowReservedAttributes, input, deploymentId, workflowName, executionContext } = given;
      const run = {
        runId, status: 'pending', specVersion: data.specVersion ?? SPEC, input, deploymentId, workflowName, executionContext,
        attributes: { ...checkAttributes(attributes, allowReservedAttributes) }, createdAt: now, updatedAt: now,
      };
      state = { run, steps: new Map(), waits: new Map(), hooks: new Set(), attributed: new Set(), events: [] };
      runs.set(runId, state);
      return append('run_created', given, undefined);
    };
    const makeStep = () => {
      const step = {
        runId, stepId: correlationId, stepName: given.stepName, input: given.input, status: 'pending', attempt: 0,
        specVersion: data.specVersion ?? SPEC, createdAt: now, updatedAt: now,
      };
      state.steps.set(correlationId, step);
      return step;
    };
    const change = (step, members) => Object.assign(step, members, { updatedAt: now });

    if (type === 'run_created') {
      if (state) conflict(runId);
      const event = makeRun();
      return { event, run: { ...state.run } };
    }
    if (type === 'run_started' && !state && given.input !== undefined && given.workflowName) makeRun();
    if (!state) stateOf(runId);
    const { run } = state;
    const ended = ENDED.has(run.status);
    switch (type) {
      case 'run_started': {
        if (ended) refuse('RunExpiredError', `${runId} has ended`);
        let event;
        if (run.status === 'pending') {
          change(run, { status: 'running', startedAt: now });
          event = append(type);
        }
        return { event, run: { ...run }, ...(params?.skipPreload ? {} : preload(state)) };
      }
      case 'run_completed':
      case 'run_failed':
      case 'run_cancelled': {
        const status = type.slice(4);
        if (ended && status === 'cancelled' && run.status === status) return { event: append(type, data.eventData), run: { ...run } };
        if (ended) conflict(runId);
        change(run, { status, completedAt: now });
        if (status === 'completed') run.output = given.output;
        if (status === 'failed') Object.assign(run, { error: given.error, errorCode: given.errorCode });
        for (const hookId of state.hooks) {
          tokens.delete(hooks.get(hookId).token);
          hooks.delete(hookId);
        }
        state.hooks.clear();
        state.waits.clear();
        return { event: append(type, data.eventData), run: { ...run } };
      }
      case 'step_created': {
        if (ended || state.steps.has(correlationId)) conflict(correlationId);
        const step = makeStep();
        return { event: append(type, given), step: { ...step } };
      }
      case 'step_started': {
        let step = state.steps.get(correlationId);
        const { input, ...kept } = given;
        const lazy = input !== undefined;
        if (lazy && (step || ended)) conflict(correlationId);
        if (!lazy && !step) notFound(correlationId);
        if (ended) refuse('RunExpiredError', `${runId} has ended`);
        if (lazy) {
          step = makeStep();
          append('step_created', given);
        }
        if (ENDED.has(step.status)) conflict(correlationId);
        const early = (step.retryAfter ?? now) - now;
        if (early > 0) refuse('TooEarlyError', 'not yet', { retryAfter: Math.ceil(early / 1000) });
        change(step, { status: 'running', attempt: step.attempt + 1, startedAt: step.startedAt ?? now, retryAfter: undefined });
        return { event: append(type, kept), step: { ...step }, ...(lazy ? { stepCreated: true } : {}) };
      }
      case 'step_completed':
      case 'step_failed':
      case 'step_retrying': {
        const step = state.steps.get(correlationId) ?? notFound(correlationId);
        if (ENDED.has(step.status)) conflict(correlationId);
        if (ended && type === 'step_failed' && step.status === 'pending') refuse('RunExpiredError', `${runId} has ended`);
        if (type === 'step_completed') change(step, { status: 'completed', output: given.result, completedAt: now });
        else if (type === 'step_failed') change(step, { status: 'failed', error: given.error, completedAt: now });
        else change(step, { status: 'pending', error: given.error, retryAfter: given.retryAfter });
        const event = append(type, given);
        return { event, step: { ...step }, ...(params?.sinceCursor ? preload(state, params.sinceCursor) : {}) };
      }
      case 'hook_created': {
        if (ended || hooks.has(correlationId)) conflict(correlationId);
        const holder = tokens.get(given.token);
        if (holder) return { event: append('hook_conflict', { token: given.token, conflictingRunId: holder.runId }) };
        const hook = {
          runId, hookId: correlationId, token: given.token, metadata: given.metadata, isWebhook: given.isWebhook ?? false,
          isSystem: given.isSystem, ownerId: 'memory', projectId: 'memory', environment: 'memory',
          specVersion: data.specVersion ?? SPEC, createdAt: now,
        };
        hooks.set(correlationId, hook);
        tokens.set(given.token, hook);
        state.hooks.add(correlationId);
        return { event: append(type, given), hook: { ...hook } };
      }
      case 'hook_received': {
        const hook = hookOf(hooks.get(correlationId));
        return { event: append(type, given), hook: { ...hook } };
      }
      case 'hook_disposed': {
        const hook = hookOf(hooks.get(correlationId));
        hooks.delete(correlationId);
        tokens.delete(hook.token);
        state.hooks.delete(correlationId);
        return { event: append(type, given), hook: { ...hook } };
      }
      case 'wait_created': {
        if (ended || state.waits.has(correlationId)) conflict(correlationId);
        const wait = { waitId: `${runId}-${correlationId}`, runId, status: 'waiting', resumeAt: given.resumeAt, createdAt: now, updatedAt: now };
        state.waits.set(correlationId, wait);
        return { event: append(type, given), wait: { ...wait } };
      }
      case 'wait_completed': {
        const wait = state.waits.get(correlationId) ?? notFound(correlationId);
        if (wait.status === 'completed') conflict(correlationId);
        change(wait, { status: 'completed', completedAt: now });
        return { event: append(type, given), wait: { ...wait } };
      }
      case 'attr_set': {
        const once = given.writer?.type === 'workflow' && correlationId;
        if (ended || (once && state.attributed.has(correlationId))) conflict(runId);
        const attributes = { ...run.attributes };
        checkAttributes(Object.fromEntries(given.changes.map(({ key, value }) => [key, value ?? ''])), given.allowReservedAttributes);
        for (const { key, value } of given.changes) {
          if (value === null) delete attributes[key];
          else attributes[key] = value;
        }
        run.attributes = checkAttributes(attributes, true);
        if (correlationId) state.attributed.add(correlationId);
        return { event: append(type, given), run: { ...run } };
      }
      default:
        return refuse('WorkflowWorldError', `${type} is not an event that can be created`, { status: 400 });
    }
  };

  const eventId = (event) => event.eventId;
  return {
    specVersion: SPEC,
    ...memoryQueue(newId),
    runs: {
      get: async (runId, params) => shown(stateOf(runId).run, params),
      list: async (params = {}) => {
        const all = [...runs.values()].map(({ run }) => run).filter((run) =>
          (!params.workflowName || run.workflowName === params.workflowName) && (!params.status || run.status === params.status));
        return page(all, (run) => run.runId, params.pagination, 20, 'desc', (run) => shown(run, params));
      },
      experimentalSetAttributes: async (runId, changes, options) => {
        const { run } = await create(runId, { eventType: 'attr_set', eventData: { changes, ...options } });
        return { attributes: run.attributes };
      },
    },
    steps: {
      get: async (runId, stepId, params) => shown(stateOf(runId).steps.get(stepId) ?? notFound(stepId), params),
      list: async (params) =>
        page([...stateOf(params.runId).steps.values()], (step) => step.stepId, params.pagination, 20, 'desc', (step) => shown(step, params)),
    },
    events: {
      create,
      get: async (runId, id, params) => shownEvent(stateOf(runId).events.find((event) => event.eventId === id) ?? notFound(id), params),
      list: async (params) =>
        page(stateOf(params.runId).events, eventId, params.pagination, 100, 'asc', (event) => shownEvent(event, params)),
      listByCorrelationId: async (params) => {
        const all = stateOf(params.runId).events.filter((event) => event.correlationId === params.correlationId);
        return page(all, eventId, params.pagination, 100, 'asc', (event) => shownEvent(event, params));
      },
    },
    hooks: {
      get: async (hookId, params) => shownHook(hookOf(hooks.get(hookId)), params),
      getByToken: async (token, params) => shownHook(hookOf(tokens.get(token)), params),
      list: async (params = {}) => {
        const all = [...hooks.values()].filter((hook) => !params.runId || hook.runId === params.runId);
        return page(all, (hook) => hook.hookId, params.pagination, 100, 'asc', (hook) => shownHook(hook, params));
      },
    },
    streams: memoryStreams(),
    close: async () => undefined,
  };
}
