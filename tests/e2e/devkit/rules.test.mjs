// Tests each rule of a World against a real server through the package.
// Needs EVERSTEP_URL; WORLD_MODULE is the location of the package.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

const { createWorld } = await import(process.env.WORLD_MODULE ?? '@everstep/world');
const world = createWorld();
const spec = world.specVersion;
after(() => world.close());

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
function ulid(time = Date.now()) {
  let text = '';
  for (let i = 0; i < 10; ++i, time = Math.floor(time / 32)) text = ALPHABET[time % 32] + text;
  for (let i = 0; i < 16; ++i) text += ALPHABET[Math.floor(Math.random() * 32)];
  return text;
}
const newRun = (time) => `wrun_${ulid(time)}`;
const newId = (kind) => `${kind}_${ulid()}`;
const bytes = (...values) => new Uint8Array(values);
const input = bytes(0, 1, 2, 255);

const create = (runId, eventType, correlationId, eventData, params) =>
  world.events.create(runId, { eventType, correlationId, eventData, specVersion: spec }, params);
const workflow = 'workflow//./rules//main';
const created = { deploymentId: 'd1', workflowName: workflow, input };
const createRun = async (data = {}) => {
  const runId = newRun();
  await create(runId, 'run_created', undefined, { ...created, ...data });
  return runId;
};
const startRun = async (data) => {
  const runId = await createRun(data);
  await create(runId, 'run_started');
  return runId;
};
const createStep = async (runId) => {
  const stepId = newId('step');
  await create(runId, 'step_created', stepId, { stepName: 'pack', input });
  return stepId;
};
const startStep = async (runId) => {
  const stepId = await createStep(runId);
  await create(runId, 'step_started', stepId);
  return stepId;
};
const types = async (runId) =>
  (await world.events.list({ runId, pagination: { sortOrder: 'asc', limit: 1000 } })).data.map(
    (event) => event.eventType,
  );
const refused = (promise, name, more = {}) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.name, name, error.message);
    for (const [key, value] of Object.entries(more)) assert.equal(error[key], value, key);
    return true;
  });
async function race(count, make) {
  const results = await Promise.allSettled(Array.from({ length: count }, (_, i) => make(i)));
  return {
    won: results.filter((one) => one.status === 'fulfilled').map((one) => one.value),
    lost: results.filter((one) => one.status === 'rejected').map((one) => one.reason.name),
  };
}
const count = (list, value) => list.filter((one) => one === value).length;

// ---- run_created

test('R1: the id of a run is wrun_ and a current ULID; without an id the server creates one', async () => {
  await refused(create('run_1', 'run_created', undefined, created), 'WorkflowWorldError', { status: 400 });
  await refused(create(newRun(Date.now() - 25 * 3600e3), 'run_created', undefined, created), 'WorkflowWorldError');
  await refused(create(newRun(Date.now() + 10 * 60e3), 'run_created', undefined, created), 'WorkflowWorldError');
  const { run, event } = await create(null, 'run_created', undefined, created);
  assert.match(run.runId, /^wrun_[0-9A-Z]{26}$/);
  assert.equal(event.runId, run.runId);
  assert.equal((await world.runs.get(run.runId)).status, 'pending');
});

test('R2: a run is created only once', async () => {
  const runId = newRun();
  const { won, lost } = await race(50, () => create(runId, 'run_created', undefined, created));
  assert.equal(won.length, 1);
  assert.equal(count(lost, 'EntityConflictError'), 49);
  assert.deepEqual(await types(runId), ['run_created']);
  const { run, event } = won[0];
  assert.equal(run.status, 'pending');
  assert.deepEqual(run.input, input);
  assert.equal(run.output, undefined);
  assert.equal(run.completedAt, undefined);
  assert.ok(run.createdAt instanceof Date && run.updatedAt instanceof Date);
  assert.ok(event.createdAt instanceof Date);
  assert.deepEqual(event.eventData.input, input);
});

test('R3: initial attributes are checked', async () => {
  const attempt = (attributes, more) => create(newRun(), 'run_created', undefined, { ...created, attributes, ...more });
  await refused(attempt({ $secret: 'x' }), 'AttributeValidationError');
  await refused(attempt({ long: 'x'.repeat(257) }), 'AttributeValidationError');
  await refused(attempt({ ['k'.repeat(257)]: 'x' }), 'AttributeValidationError');
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, 'v']));
  await refused(attempt(many), 'AttributeValidationError');
  const { run } = await attempt({ $root: 'r', color: 'red' }, { allowReservedAttributes: true });
  assert.deepEqual(run.attributes, { $root: 'r', color: 'red' });
});

test('a run whose payloads would be removed at its end is not started', async () => {
  const wish = { ...created, attributes: { $retention: '0' }, allowReservedAttributes: true };
  const runId = newRun();
  await refused(create(runId, 'run_created', undefined, wish), 'AttributeValidationError');
  await refused(world.runs.get(runId), 'WorkflowRunNotFoundError');
});

// ---- run_started

test('R4: run_started starts a pending run and answers with its whole log', async () => {
  const runId = await createRun();
  const { run, events, cursor, hasMore } = await create(runId, 'run_started');
  assert.equal(run.status, 'running');
  assert.ok(run.startedAt instanceof Date);
  assert.deepEqual(run.input, input);
  assert.deepEqual(events.map((event) => event.eventType), ['run_created', 'run_started']);
  assert.equal(cursor, events.at(-1).eventId);
  assert.equal(hasMore, false);
});

test('R5: run_started of a running run changes nothing, and startedAt stays', async () => {
  const runId = await startRun();
  const before = await world.runs.get(runId);
  const { run } = await create(runId, 'run_started');
  assert.equal(run.status, 'running');
  assert.equal(run.startedAt.getTime(), before.startedAt.getTime());
  assert.deepEqual(await types(runId), ['run_created', 'run_started']);
});

test('R6: run_started of a run that has ended is refused as expired', async () => {
  for (const end of ['run_completed', 'run_failed', 'run_cancelled']) {
    const runId = await startRun();
    await create(runId, end, undefined, end === 'run_failed' ? { error: bytes(1) } : undefined);
    await refused(create(runId, 'run_started'), 'RunExpiredError');
  }
});

test('R7: run_started with the data of a run creates a missing run, in order', async () => {
  const runId = newRun();
  const { won } = await race(50, () => create(runId, 'run_started', undefined, created));
  assert.equal(won.length, 50);
  assert.deepEqual(await types(runId), ['run_created', 'run_started']);
  assert.deepEqual((await world.runs.get(runId)).input, input);
});

test('R8: run_started of a missing run without data is refused', async () => {
  await refused(create(newRun(), 'run_started'), 'WorkflowRunNotFoundError');
});

test('R9: run_started keeps no data', async () => {
  const runId = newRun();
  await create(runId, 'run_started', undefined, created);
  const { data } = await world.events.list({ runId });
  assert.equal(data.at(-1).eventType, 'run_started');
  assert.equal(data.at(-1).eventData, undefined);
  assert.deepEqual(data[0].eventData.input, input);
});

// ---- the end of a run

test('R10: a run may end before it has started', async () => {
  for (const end of ['run_completed', 'run_failed', 'run_cancelled']) {
    const runId = await createRun();
    const { run } = await create(runId, end, undefined, end === 'run_failed' ? { error: bytes(1) } : undefined);
    assert.equal(run.status, end.slice(4));
    assert.ok(run.completedAt instanceof Date);
  }
});

test('R11: an end is final; only a cancelled run may be cancelled again', async () => {
  const done = await startRun();
  await create(done, 'run_completed', undefined, { output: bytes(7) });
  for (const end of ['run_completed', 'run_failed', 'run_cancelled']) {
    await refused(create(done, end, undefined, { error: bytes(1) }), 'EntityConflictError');
  }
  const cancelled = await startRun();
  await create(cancelled, 'run_cancelled');
  const before = await world.runs.get(cancelled);
  const { run, event } = await create(cancelled, 'run_cancelled');
  assert.equal(run.status, 'cancelled');
  assert.equal(event.eventType, 'run_cancelled');
  assert.equal(run.completedAt.getTime(), before.completedAt.getTime());
  assert.equal(event.eventId, (await world.events.list({ runId: cancelled })).data.at(-1).eventId);
  assert.equal(count(await types(cancelled), 'run_cancelled'), 2);
  const { won } = await race(50, () => create(cancelled, 'run_cancelled'));
  assert.equal(new Set(won.map((one) => one.event.eventId)).size, 50);
  assert.equal(count(await types(cancelled), 'run_cancelled'), 52);
  await refused(create(cancelled, 'run_completed'), 'EntityConflictError');
});

test('R12: the end of a missing run is refused', async () => {
  for (const end of ['run_completed', 'run_failed', 'run_cancelled']) {
    await refused(create(newRun(), end, undefined, { error: bytes(1) }), 'WorkflowRunNotFoundError');
  }
});

test('R13: of fifty concurrent ends one wins', async () => {
  const runId = await startRun();
  const ends = ['run_completed', 'run_failed'];
  const { won, lost } = await race(50, (i) => create(runId, ends[i % 2], undefined, { output: bytes(i), error: bytes(i) }));
  assert.equal(won.length, 1);
  assert.equal(count(lost, 'EntityConflictError'), 49);
  const all = await types(runId);
  assert.equal(all.length, 3);
  assert.equal((await world.runs.get(runId)).status, all.at(-1).slice(4));
});

test('R14: the end frees hooks and waits and leaves steps unchanged', async () => {
  const runId = await startRun();
  const stepId = await startStep(runId);
  const token = newId('token');
  const hookId = newId('hook');
  const waitId = newId('wait');
  await create(runId, 'hook_created', hookId, { token });
  await create(runId, 'wait_created', waitId, { resumeAt: new Date(Date.now() + 1e6) });
  const { run } = await create(runId, 'run_completed', undefined, { output: bytes(9) });
  assert.deepEqual(run.output, bytes(9));
  await refused(world.hooks.getByToken(token), 'HookNotFoundError');
  await refused(world.hooks.get(hookId), 'HookNotFoundError');
  await refused(create(runId, 'wait_completed', waitId), 'WorkflowWorldError', { status: 404 });
  assert.equal((await world.steps.get(runId, stepId)).status, 'running');
  assert.ok(!(await types(runId)).includes('hook_disposed'));
  const failed = await startRun();
  await create(failed, 'run_failed', undefined, { error: bytes(4), errorCode: 'USER_ERROR' });
  const after = await world.runs.get(failed);
  assert.deepEqual(after.error, bytes(4));
  assert.equal(after.errorCode, 'USER_ERROR');
});

// ---- steps

test('R15: a step may be created in a pending run, not in a missing or ended one', async () => {
  const runId = await createRun();
  await createStep(runId);
  await refused(createStep(newRun()), 'WorkflowRunNotFoundError');
  await create(runId, 'run_cancelled');
  await refused(createStep(runId), 'EntityConflictError');
});

test('R16: a step is created once in its run; another run may have the same id', async () => {
  const runId = await startRun();
  const stepId = newId('step');
  const make = (run) => create(run, 'step_created', stepId, { stepName: 'pack', input });
  const { won, lost } = await race(50, () => make(runId));
  assert.equal(won.length, 1);
  assert.equal(count(lost, 'EntityConflictError'), 49);
  assert.equal(count(await types(runId), 'step_created'), 1);
  assert.equal(won[0].step.status, 'pending');
  assert.equal(won[0].step.attempt, 0);
  assert.deepEqual(won[0].step.input, input);
  const other = await startRun();
  await make(other);
  assert.equal((await world.steps.get(other, stepId)).runId, other);
});

test('R17: a missing step cannot start', async () => {
  await refused(create(await startRun(), 'step_started', newId('step')), 'WorkflowWorldError', { status: 404 });
});

test('R18: a step that has ended cannot start', async () => {
  const runId = await startRun();
  const stepId = await startStep(runId);
  await create(runId, 'step_completed', stepId, { result: bytes(1) });
  await refused(create(runId, 'step_started', stepId), 'EntityConflictError');
});

test('R19: before retryAfter a step cannot start', async () => {
  const runId = await startRun();
  const stepId = await startStep(runId);
  await create(runId, 'step_retrying', stepId, { error: bytes(1), retryAfter: new Date(Date.now() + 4500) });
  await refused(create(runId, 'step_started', stepId), 'TooEarlyError', { retryAfter: 5 });
  const step = await world.steps.get(runId, stepId);
  assert.equal(step.status, 'pending');
  assert.ok(step.retryAfter instanceof Date);
});

test('R20: every start is an attempt; the first start stays', async () => {
  const runId = await startRun();
  const stepId = await createStep(runId);
  const first = (await create(runId, 'step_started', stepId)).step;
  assert.equal(first.attempt, 1);
  assert.equal(first.status, 'running');
  assert.deepEqual(first.input, input);
  const second = (await create(runId, 'step_started', stepId)).step;
  assert.equal(second.attempt, 2);
  assert.equal(second.startedAt.getTime(), first.startedAt.getTime());
  await create(runId, 'step_retrying', stepId, { error: bytes(3), retryAfter: new Date(Date.now() - 1) });
  const third = (await create(runId, 'step_started', stepId)).step;
  assert.equal(third.attempt, 3);
  assert.equal(third.retryAfter, undefined);
  assert.deepEqual(third.error, bytes(3));
  const { won } = await race(50, () => create(runId, 'step_started', stepId));
  assert.deepEqual(won.map((one) => one.step.attempt).sort((a, b) => a - b), Array.from({ length: 50 }, (_, i) => i + 4));
});

test('R21: no step starts in a run that has ended', async () => {
  const runId = await startRun();
  const pending = await createStep(runId);
  const running = await startStep(runId);
  await create(runId, 'run_completed');
  await refused(create(runId, 'step_started', pending), 'RunExpiredError');
  await refused(create(runId, 'step_started', running), 'RunExpiredError');
});

test('R22: a start with the data of a step creates the step, for one caller', async () => {
  const runId = await startRun();
  const stepId = newId('step');
  const start = () => create(runId, 'step_started', stepId, { stepName: 'pack', input });
  const { won, lost } = await race(50, start);
  assert.equal(won.length, 1);
  assert.equal(count(lost, 'EntityConflictError'), 49);
  assert.equal(won[0].stepCreated, true);
  assert.equal(won[0].step.attempt, 1);
  assert.deepEqual(won[0].step.input, input);
  const { data } = await world.events.list({ runId });
  assert.deepEqual(data.slice(2).map((event) => event.eventType), ['step_created', 'step_started']);
  assert.deepEqual(data[2].eventData.input, input);
  assert.equal(data[3].eventData?.input, undefined);
  await create(runId, 'run_completed');
  await refused(create(runId, 'step_started', newId('step'), { stepName: 'pack', input }), 'EntityConflictError');
});

test('R23: a step ends once', async () => {
  const runId = await startRun();
  for (const end of ['step_completed', 'step_failed', 'step_retrying']) {
    await refused(create(runId, end, newId('step'), { result: bytes(1), error: bytes(1) }), 'WorkflowWorldError', { status: 404 });
  }
  const stepId = await startStep(runId);
  const ends = ['step_completed', 'step_failed'];
  const { won, lost } = await race(50, (i) => create(runId, ends[i % 2], stepId, { result: bytes(i), error: bytes(i) }));
  assert.equal(won.length, 1);
  assert.equal(count(lost, 'EntityConflictError'), 49);
  assert.equal((await types(runId)).length, 5);
  await refused(create(runId, 'step_retrying', stepId, { error: bytes(1) }), 'EntityConflictError');
});

test('R24: a step may end without having started', async () => {
  const runId = await startRun();
  for (const [end, status] of [['step_completed', 'completed'], ['step_failed', 'failed'], ['step_retrying', 'pending']]) {
    const stepId = await createStep(runId);
    const { step } = await create(runId, end, stepId, { result: bytes(1), error: bytes(1) });
    assert.equal(step.status, status);
  }
});

test('R25: a step may end after its run has; one that has not started may not fail then', async () => {
  const runId = await startRun();
  const [a, b, c] = [await startStep(runId), await startStep(runId), await startStep(runId)];
  const [d, e, f] = [await createStep(runId), await createStep(runId), await createStep(runId)];
  const waiting = await startStep(runId);
  await create(runId, 'step_retrying', waiting, { error: bytes(1), retryAfter: new Date(Date.now() + 60e3) });
  await create(runId, 'run_cancelled');
  assert.equal((await create(runId, 'step_completed', a, { result: bytes(1) })).step.status, 'completed');
  assert.equal((await create(runId, 'step_failed', b, { error: bytes(1) })).step.status, 'failed');
  assert.equal((await create(runId, 'step_retrying', c, { error: bytes(1) })).step.status, 'pending');
  assert.equal((await create(runId, 'step_completed', d, { result: bytes(1) })).step.status, 'completed');
  assert.equal((await create(runId, 'step_retrying', e, { error: bytes(1) })).step.status, 'pending');
  await refused(create(runId, 'step_failed', f, { error: bytes(1) }), 'RunExpiredError');
  assert.equal((await create(runId, 'step_retrying', c, { error: bytes(2) })).step.status, 'pending');
  assert.equal((await create(runId, 'step_completed', waiting, { result: bytes(1) })).step.status, 'completed');
  await refused(create(runId, 'step_completed', waiting, { result: bytes(1) }), 'EntityConflictError');
  assert.equal((await world.runs.get(runId)).status, 'cancelled');
});

test('R26: the data that a step keeps when it ends', async () => {
  const runId = await startRun();
  const done = await startStep(runId);
  const { step } = await create(runId, 'step_completed', done, { result: bytes(5, 0, 6) });
  assert.deepEqual(step.output, bytes(5, 0, 6));
  assert.ok(step.completedAt instanceof Date);
  assert.deepEqual((await world.steps.get(runId, done)).output, bytes(5, 0, 6));
  const failed = await startStep(runId);
  const bad = (await create(runId, 'step_failed', failed, { error: bytes(8) })).step;
  assert.deepEqual(bad.error, bytes(8));
  assert.ok(bad.completedAt instanceof Date);
  const again = await startStep(runId);
  const at = new Date(Date.now() + 60e3);
  const retrying = (await create(runId, 'step_retrying', again, { error: bytes(2), retryAfter: at })).step;
  assert.equal(retrying.status, 'pending');
  assert.equal(retrying.attempt, 1);
  assert.equal(retrying.retryAfter.getTime(), at.getTime());
  assert.equal(retrying.completedAt, undefined);
  const soon = await startStep(runId);
  assert.equal((await create(runId, 'step_retrying', soon, { error: bytes(2) })).step.retryAfter, undefined);
});

test('R26: a step that waits for its next attempt ends with its attempts so far', async () => {
  const runId = await startRun();
  for (const [end, status] of [['step_completed', 'completed'], ['step_failed', 'failed'], ['step_retrying', 'pending']]) {
    const stepId = await startStep(runId);
    await create(runId, 'step_retrying', stepId, { error: bytes(2), retryAfter: new Date(Date.now() + 60e3) });
    const { step } = await create(runId, end, stepId, { result: bytes(1), error: bytes(1) });
    assert.deepEqual([step.status, step.attempt], [status, 1]);
    const stored = await world.steps.get(runId, stepId);
    assert.deepEqual([stored.status, stored.attempt], [status, 1]);
    const { data } = await world.events.listByCorrelationId({ runId, correlationId: stepId });
    assert.deepEqual(data.map((event) => event.eventType).filter((type) => type !== 'noop'),
                     ['step_created', 'step_started', 'step_retrying', end]);
  }
});

// ---- hooks

test('R27: a token has one live hook; others get a conflict', async () => {
  const token = newId('token');
  const runs = await Promise.all(Array.from({ length: 50 }, () => startRun()));
  const made = await Promise.all(runs.map((runId) => create(runId, 'hook_created', newId('hook'), { token, metadata: bytes(1) })));
  const winners = made.filter((one) => one.hook);
  assert.equal(winners.length, 1);
  const { hook } = winners[0];
  assert.equal(hook.token, token);
  assert.equal(hook.isWebhook, false);
  assert.deepEqual(hook.metadata, bytes(1));
  for (const field of ['ownerId', 'projectId', 'environment']) assert.equal(typeof hook[field], 'string');
  const losers = made.filter((one) => !one.hook);
  for (const { event } of losers) {
    assert.equal(event.eventType, 'hook_conflict');
    assert.equal(event.eventData.token, token);
    assert.equal(event.eventData.conflictingRunId, hook.runId);
  }
  assert.equal((await types(losers[0].event.runId)).at(-1), 'hook_conflict');
  await refused(create(hook.runId, 'hook_created', hook.hookId, { token }), 'EntityConflictError');
  const own = await create(hook.runId, 'hook_created', newId('hook'), { token });
  assert.equal(own.event.eventType, 'hook_conflict');
  const ended = await createRun();
  await create(ended, 'run_cancelled');
  await refused(create(ended, 'hook_created', newId('hook'), { token: newId('token') }), 'EntityConflictError');
});

test('R28: a hook takes any number of payloads while it is active', async () => {
  const runId = await startRun();
  const hookId = newId('hook');
  await refused(create(runId, 'hook_received', hookId, { payload: bytes(1) }), 'HookNotFoundError');
  await create(runId, 'hook_created', hookId, { token: newId('token') });
  const deliveries = Array.from({ length: 49 }, (_, i) => create(runId, 'hook_received', hookId, { payload: bytes(i) }));
  const disposal = create(runId, 'hook_disposed', hookId);
  const results = await Promise.allSettled([...deliveries, disposal]);
  const all = (await types(runId)).slice(3);
  const taken = results.slice(0, 49).filter((one) => one.status === 'fulfilled').length;
  assert.equal(count(all, 'hook_received'), taken);
  assert.equal(all.indexOf('hook_disposed'), all.length - 1, 'nothing follows the disposal');
  await refused(create(runId, 'hook_received', hookId, { payload: bytes(1) }), 'HookNotFoundError');
  const other = newId('hook');
  await create(runId, 'hook_created', other, { token: newId('token') });
  await create(runId, 'run_completed');
  await refused(create(runId, 'hook_received', other, { payload: bytes(1) }), 'HookNotFoundError');
});

test('R29: a hook is disposed once, and its token is free', async () => {
  const runId = await startRun();
  const hookId = newId('hook');
  const token = newId('token');
  await create(runId, 'hook_created', hookId, { token });
  const { won, lost } = await race(50, () => create(runId, 'hook_disposed', hookId));
  assert.equal(won.length, 1);
  assert.equal(count(lost, 'HookNotFoundError'), 49);
  await refused(world.hooks.getByToken(token), 'HookNotFoundError');
  const other = await startRun();
  assert.ok((await create(other, 'hook_created', newId('hook'), { token })).hook);
});

test('a hook with a retention keeps its token after the end of its run, for a while', async () => {
  assert.equal(world.capabilities.hookRetention.active, true);
  const make = (runId, token, ms) =>
    create(runId, 'hook_created', newId('hook'), { token, tokenRetentionUntil: new Date(Date.now() + ms) });
  const runId = await startRun();
  const token = newId('token');
  const { hook } = await make(runId, token, 3000);
  assert.ok(hook.tokenRetentionUntil instanceof Date);
  const disposed = newId('token');
  const other = (await make(runId, disposed, 60e3)).hook;
  await create(runId, 'hook_disposed', other.hookId);
  const next = await startRun();
  assert.ok((await create(next, 'hook_created', newId('hook'), { token: disposed })).hook);
  await refused(make(next, newId('token'), 31 * 86400e3), 'WorkflowWorldError', { status: 400 });
  await create(runId, 'run_completed');
  assert.equal((await world.hooks.getByToken(token)).hookId, hook.hookId);
  assert.deepEqual((await world.hooks.list({ runId })).data.map((one) => one.hookId), [hook.hookId]);
  await refused(create(runId, 'hook_received', hook.hookId, { payload: bytes(1) }), 'HookNotFoundError');
  const { event } = await create(next, 'hook_created', newId('hook'), { token });
  assert.equal(event.eventType, 'hook_conflict');
  assert.equal(event.eventData.conflictingRunId, runId);
  // It is held until then, but not forever.
  const isHeld = () => world.hooks.getByToken(token).then(() => true, (error) => error.name !== 'HookNotFoundError');
  while (await isHeld()) {
    assert.ok(Date.now() < hook.tokenRetentionUntil.getTime() + 10e3, 'the token is free again');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.ok(Date.now() >= hook.tokenRetentionUntil.getTime());
  assert.deepEqual((await world.hooks.list({ runId })).data, []);
  assert.equal((await create(next, 'hook_created', newId('hook'), { token })).hook.runId, next);
});

// ---- waits

test('R30: a wait is created once, not in a run that has ended', async () => {
  const runId = await startRun();
  const waitId = newId('wait');
  const resumeAt = new Date(Date.now() + 60e3);
  const { won, lost } = await race(50, () => create(runId, 'wait_created', waitId, { resumeAt }));
  assert.equal(won.length, 1);
  assert.equal(count(lost, 'EntityConflictError'), 49);
  assert.equal(won[0].wait.status, 'waiting');
  assert.equal(won[0].wait.resumeAt.getTime(), resumeAt.getTime());
  assert.equal(won[0].wait.waitId, `${runId}-${waitId}`);
  const { data } = await world.events.list({ runId });
  assert.ok(data.at(-1).eventData.resumeAt instanceof Date);
  await create(runId, 'run_cancelled');
  await refused(create(runId, 'wait_created', newId('wait'), { resumeAt }), 'EntityConflictError');
});

test('R31: a wait completes once, also before its time', async () => {
  const runId = await startRun();
  const waitId = newId('wait');
  await refused(create(runId, 'wait_completed', waitId), 'WorkflowWorldError', { status: 404 });
  await create(runId, 'wait_created', waitId, { resumeAt: new Date(Date.now() + 60e3) });
  const { won, lost } = await race(50, () => create(runId, 'wait_completed', waitId));
  assert.equal(won.length, 1);
  assert.equal(count(lost, 'EntityConflictError'), 49);
  assert.equal(won[0].wait.status, 'completed');
  assert.equal(count(await types(runId), 'wait_completed'), 1);
});

// ---- attributes

test('attr_set changes attributes, within the rules', { skip: spec < 4 }, async () => {
  const writer = { type: 'workflow' };
  const set = (runId, id, changes, by = writer) => create(runId, 'attr_set', id, { changes, writer: by });
  await refused(set(newRun(), newId('attr'), [{ key: 'a', value: 'b' }]), 'WorkflowRunNotFoundError');
  const runId = await startRun({ attributes: { a: '1', b: '2' } });
  const id = newId('attr');
  await set(runId, id, [{ key: 'a', value: null }, { key: 'c', value: '3' }]);
  assert.deepEqual((await world.runs.get(runId)).attributes, { b: '2', c: '3' });
  await refused(set(runId, id, [{ key: 'd', value: '4' }]), 'EntityConflictError');
  const step = { type: 'step', stepId: newId('step'), attempt: 1 };
  await set(runId, id, [{ key: 'd', value: '4' }], step);
  await refused(set(runId, newId('attr'), [{ key: '$x', value: 'y' }]), 'AttributeValidationError');
  const many = Array.from({ length: 64 }, (_, i) => ({ key: `k${i}`, value: 'v' }));
  await refused(set(runId, newId('attr'), many), 'AttributeValidationError');
  const { attributes } = await world.runs.experimentalSetAttributes(runId, [{ key: 'b', value: 'new' }]);
  assert.equal(attributes.b, 'new');
  await create(runId, 'run_completed');
  await refused(set(runId, newId('attr'), [{ key: 'e', value: '5' }]), 'EntityConflictError');
});

test('concurrent attribute changes never exceed the limit', { skip: spec < 4 }, async () => {
  const runId = await startRun({ attributes: Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, 'v'])) });
  const worlds = Array.from({ length: 4 }, () => createWorld());
  const set = (i) =>
    worlds[i % 4].events.create(runId, {
      eventType: 'attr_set',
      correlationId: newId('attr'),
      eventData: { changes: [{ key: `more${i}`, value: 'v' }], writer: { type: 'workflow' } },
      specVersion: spec,
    });
  const { won, lost } = await race(40, set);
  assert.equal(won.length, 4);
  assert.equal(count(lost, 'AttributeValidationError'), 36);
  assert.equal(Object.keys((await world.runs.get(runId)).attributes).length, 64);
  assert.equal(count(await types(runId), 'attr_set'), 4);
  await Promise.all(worlds.map((one) => one.close()));
});

// ---- lists

test('lists page in both orders, with a cursor on the last page too', async () => {
  const name = `workflow//./rules//${ulid()}`;
  const runs = [];
  for (let i = 0; i < 5; ++i) runs.push(await createRun({ workflowName: name }));
  const walk = async (sortOrder) => {
    const seen = [];
    let cursor;
    for (;;) {
      const page = await world.runs.list({ workflowName: name, pagination: { limit: 2, cursor, sortOrder } });
      seen.push(...page.data.map((run) => run.runId));
      assert.equal(page.cursor === null, page.data.length === 0);
      if (!page.hasMore) return { seen, cursor: page.cursor };
      cursor = page.cursor;
    }
  };
  assert.deepEqual((await walk(undefined)).seen, [...runs].reverse());
  assert.deepEqual((await walk('desc')).seen, [...runs].reverse());
  const up = await walk('asc');
  assert.deepEqual(up.seen, runs);
  const later = await createRun({ workflowName: name });
  const more = await world.runs.list({ workflowName: name, pagination: { cursor: up.cursor, sortOrder: 'asc' } });
  assert.deepEqual(more.data.map((run) => run.runId), [later]);
  await create(runs[0], 'run_cancelled');
  const cancelled = await world.runs.list({ workflowName: name, status: 'cancelled' });
  assert.deepEqual(cancelled.data.map((run) => run.runId), [runs[0]]);
  assert.equal((await world.runs.list({ workflowName: name, status: 'pending' })).data.length, 5);
  const empty = await world.runs.list({ workflowName: `${name}x` });
  assert.deepEqual(empty, { data: [], cursor: null, hasMore: false });
});

test('events page in both orders; steps, hooks and correlation ids are found', async () => {
  const runId = await startRun();
  const steps = [];
  for (let i = 0; i < 3; ++i) steps.push(await startStep(runId));
  const hookId = newId('hook');
  await create(runId, 'hook_created', hookId, { token: newId('token'), metadata: bytes(1) });
  const all = (await world.events.list({ runId })).data;
  assert.equal(all.length, 9);
  const first = await world.events.list({ runId, pagination: { limit: 4 } });
  assert.equal(first.hasMore, true);
  const second = await world.events.list({ runId, pagination: { limit: 100, cursor: first.cursor } });
  assert.equal(second.hasMore, false);
  assert.deepEqual([...first.data, ...second.data], all);
  const none = await world.events.list({ runId, pagination: { cursor: second.cursor } });
  assert.deepEqual(none, { data: [], cursor: null, hasMore: false });
  const down = await world.events.list({ runId, pagination: { limit: 4, sortOrder: 'desc' } });
  assert.deepEqual(down.data.map((event) => event.eventId), all.slice(5).reverse().map((event) => event.eventId));
  const further = await world.events.list({ runId, pagination: { limit: 100, sortOrder: 'desc', cursor: down.cursor } });
  assert.deepEqual(further.data.map((event) => event.eventId), all.slice(0, 5).reverse().map((event) => event.eventId));
  await refused(world.events.list({ runId, pagination: { cursor: 'nonsense' } }), 'WorkflowWorldError', { status: 400 });
  assert.deepEqual(await world.events.get(runId, all[3].eventId), all[3]);
  await refused(world.events.get(runId, 'evnt_00000000000000000000009999'), 'WorkflowWorldError', { status: 404 });
  const of = await world.events.listByCorrelationId({ runId, correlationId: steps[1] });
  assert.deepEqual(of.data.map((event) => event.eventType), ['step_created', 'step_started']);
  const listed = await world.steps.list({ runId, pagination: { limit: 2 } });
  assert.deepEqual(listed.data.map((step) => step.stepId), [steps[2], steps[1]]);
  assert.equal(listed.hasMore, true);
  const rest = await world.steps.list({ runId, pagination: { limit: 2, cursor: listed.cursor } });
  assert.deepEqual(rest.data.map((step) => step.stepId), [steps[0]]);
  assert.deepEqual((await world.hooks.list({ runId })).data.map((hook) => hook.hookId), [hookId]);
  assert.equal((await world.hooks.get(hookId)).runId, runId);
});

test('resolveData none omits only opaque data', async () => {
  const runId = await startRun();
  const stepId = await startStep(runId);
  await create(runId, 'step_failed', stepId, { error: bytes(1) });
  const hookId = newId('hook');
  await create(runId, 'hook_created', hookId, { token: newId('token'), metadata: bytes(1) });
  const run = await world.runs.get(runId, { resolveData: 'none' });
  assert.equal(run.input, undefined);
  assert.equal(run.workflowName, workflow);
  const step = await world.steps.get(runId, stepId, { resolveData: 'none' });
  assert.equal(step.input, undefined);
  assert.deepEqual(step.error, bytes(1));
  assert.equal((await world.hooks.get(hookId, { resolveData: 'none' })).metadata, undefined);
  const { data } = await world.events.list({ runId, resolveData: 'none' });
  const made = data.find((event) => event.eventType === 'run_created');
  assert.deepEqual(made.eventData, { deploymentId: 'd1', workflowName: workflow });
  assert.equal(data.find((event) => event.eventType === 'step_failed').eventData, undefined);
});

test('missing objects are reported as missing', async () => {
  await refused(world.runs.get(newRun()), 'WorkflowRunNotFoundError');
  await refused(world.steps.get(await startRun(), newId('step')), 'WorkflowWorldError', { status: 404 });
  await refused(world.hooks.get(newId('hook')), 'HookNotFoundError');
  await refused(world.hooks.getByToken('nobody has it'), 'HookNotFoundError');
});

test('sinceCursor answers with the events recorded since', { skip: spec < 5 }, async () => {
  const runId = newRun();
  const { cursor } = await create(runId, 'run_started', undefined, created);
  const stepId = newId('step');
  await create(runId, 'step_started', stepId, { stepName: 'pack', input });
  const done = await create(runId, 'step_completed', stepId, { result: bytes(1) }, { sinceCursor: cursor });
  assert.deepEqual(done.events.map((event) => event.eventType), ['step_created', 'step_started', 'step_completed']);
  assert.equal(done.cursor, done.events.at(-1).eventId);
  assert.equal(done.hasMore, false);
});

test('a payload of megabytes, and one with every byte, are returned unchanged', async () => {
  const large = new Uint8Array(3 << 20).map((_, i) => i * 31);
  const runId = await startRun({ input: large });
  assert.deepEqual((await world.runs.get(runId)).input, large);
  const stepId = await startStep(runId);
  const every = new Uint8Array(256).map((_, i) => i);
  await create(runId, 'step_completed', stepId, { result: every });
  assert.deepEqual((await world.steps.get(runId, stepId)).output, every);
  await refused(startRun({ input: new Uint8Array((8 << 20) + 1) }), 'WorkflowWorldError', { status: 413 });
});

// ---- requests repeated because the answer to the first was lost

test('a repeated request gets the same answer and acts once', async () => {
  const folder = new URL('./', import.meta.resolve('@everstep/world'));
  const { Connection } = await import(new URL('connection.js', folder));
  const { resolveConfig } = await import(new URL('config.js', folder));
  const connection = new Connection({ ...resolveConfig({}), spec });
  const twice = async (type, runId, correlationId, data) => {
    const args = { runId, type, correlationId, data, specVersion: spec, requestId: `again-${ulid()}` };
    const first = await connection.call('events.create', args);
    assert.deepEqual((await connection.call('events.create', args)).eventId, first.eventId);
    return first;
  };
  const runId = await startRun();
  const lazy = newId('step');
  assert.equal((await twice('step_started', runId, lazy, { stepName: 'pack', input })).step.attempt, 1);
  assert.equal((await twice('step_started', runId, lazy)).step.attempt, 2);
  await twice('step_retrying', runId, lazy, { error: bytes(1) });
  assert.equal((await twice('step_started', runId, lazy)).step.attempt, 3);
  const hookId = newId('hook');
  await create(runId, 'hook_created', hookId, { token: newId('token') });
  await twice('hook_received', runId, hookId, { payload: bytes(1) });
  await twice('hook_received', runId, hookId, { payload: bytes(1) });
  assert.deepEqual((await types(runId)).slice(2), [
    'step_created', 'step_started', 'step_started', 'step_retrying', 'step_started',
    'hook_created', 'hook_received', 'hook_received',
  ]);
  const chunk = { runId, name: 'again', requestId: `again-${ulid()}`, chunks: [bytes(1)] };
  await connection.call('streams.write', chunk);
  await connection.call('streams.write', chunk);
  assert.equal((await connection.call('streams.read', { runId, name: 'again' })).count, 1);
  const message = { id: `msg_${ulid()}`, queue: 'nobody.takes.it', body: Buffer.from('{}') };
  assert.equal((await connection.call('queue.send', message)).messageId, message.id);
  assert.equal((await connection.call('queue.send', message)).messageId, message.id);
  connection.close();
});

test('resumes of a run with the same resumeId count as one', async () => {
  assert.equal(world.capabilities.hookResumeDedup, true);
  const runId = await startRun();
  const hookId = newId('hook');
  await create(runId, 'hook_created', hookId, { token: newId('token') });
  const resumeId = ulid();
  const resume = (payload) => create(runId, 'hook_received', hookId, { payload }, { resumeId });
  const { won } = await race(50, () => resume(bytes(1)));
  assert.equal(won.length, 50);
  assert.equal(new Set(won.map(({ event }) => event.eventId)).size, 1);
  await refused(resume(bytes(2)), 'WorkflowWorldError', { status: 422 });
  await create(runId, 'hook_disposed', hookId);
  assert.equal((await resume(bytes(1))).event.eventId, won[0].event.eventId);
  const { data } = await world.events.list({ runId });
  const received = data.filter((event) => event.eventType === 'hook_received');
  assert.deepEqual(received.map((event) => event.resumeId), [resumeId]);
  assert.equal(won[0].event.resumeId, resumeId);
});

// ---- streams

async function readAll(stream) {
  const parts = [];
  for await (const part of stream) parts.push(Buffer.from(part).toString());
  return parts;
}

// Up to version 3 streams are members of the world itself and take the name first.
const streams = world.streams ?? {
  write: async (runId, name, chunk) => world.writeToStream(name, runId, chunk),
  writeMulti: async (runId, name, chunks) => world.writeToStreamMulti(name, runId, chunks),
  close: async (runId, name) => world.closeStream(name, runId),
  get: async (_runId, name, startIndex) => world.readFromStream(name, startIndex),
  list: async (runId) => world.listStreamsByRunId(runId),
  getChunks: async (runId, name, page) => world.getStreamChunks(name, runId, page),
  getInfo: async (runId, name) => world.getStreamInfo(name, runId),
};

test('streams keep their order, their indexes and their end', async () => {
  const runId = newRun();
  const name = `strm_${runId.slice(5)}_user`;
  const early = readAll(await streams.get(runId, name));
  assert.deepEqual(await streams.getInfo(runId, name), { tailIndex: -1, done: false });
  await streams.write(runId, name, 'a');
  await streams.writeMulti(runId, name, ['b', bytes(99)]);
  await streams.write(runId, name, '');
  await streams.write(Promise.resolve(runId), name, 'd');
  const late = readAll(await streams.get(runId, name, 1));
  const last = readAll(await streams.get(runId, name, -2));
  assert.deepEqual(await streams.getInfo(runId, name), { tailIndex: 4, done: false });
  await streams.close(runId, name);
  await streams.write(runId, name, 'too late');
  assert.deepEqual(await early, ['a', 'b', 'c', 'd']);
  assert.deepEqual(await late, ['b', 'c', 'd']);
  assert.deepEqual(await last, ['d']);
  assert.deepEqual(await readAll(await streams.get(runId, name, 3)), ['d']);
  assert.deepEqual(await streams.list(runId), [name]);
  const page = await streams.getChunks(runId, name, { limit: 2 });
  assert.deepEqual(page.data.map((chunk) => chunk.index), [0, 1]);
  assert.equal(page.hasMore, true);
  const rest = await streams.getChunks(runId, name, { limit: 10, cursor: page.cursor });
  assert.deepEqual(rest.data.map((chunk) => chunk.index), [2, 3, 4]);
  assert.deepEqual([rest.hasMore, rest.done, rest.cursor], [false, true, null]);
});
