// Workflows with known results. A process killed during a step uses up one of the step's retries,
// so every step has more retries than there can be kills.

import { appendFileSync } from 'node:fs';
import { createHook, FatalError, getStepMetadata, getWorkflowMetadata, RetryableError, sleep } from 'workflow';

const WITHOUT_END = 1_000_000;

async function add(a: number, b: number): Promise<number> {
  'use step';
  return a + b;
}
add.maxRetries = WITHOUT_END;

async function slowly(value: number): Promise<number> {
  'use step';
  await new Promise((resolve) => setTimeout(resolve, 100));
  return value;
}
slowly.maxRetries = WITHOUT_END;

async function atTheThird(value: string): Promise<string> {
  'use step';
  if (getStepMetadata().attempt < 3) throw new RetryableError('not yet', { retryAfter: 500 });
  return value;
}
atTheThird.maxRetries = WITHOUT_END;

async function neverThere(): Promise<void> {
  'use step';
  throw new FatalError('no use');
}
neverThere.maxRetries = WITHOUT_END;

// Records when its body starts and ends in a file that outlives the process.
async function takesLong(number: number, ms: number): Promise<number> {
  'use step';
  const { stepId } = getStepMetadata();
  const say = (what: string) =>
    appendFileSync(process.env.BODIES!, `${what} ${Date.now()} ${process.pid} ${getWorkflowMetadata().workflowRunId} ${stepId}\n`);
  say('begin');
  await new Promise((resolve) => setTimeout(resolve, ms));
  say('end');
  return number;
}
takesLong.maxRetries = WITHOUT_END;

// Steps that are likely to be in flight when a process is killed.
export async function long(length: number, ms: number) {
  'use workflow';
  let sum = 0;
  for (let i = 1; i <= length; ++i) sum += await takesLong(i, ms);
  return sum;
}

// Sequential steps.
export async function sequence(length: number) {
  'use workflow';
  let sum = 0;
  for (let i = 1; i <= length; ++i) sum = await add(sum, i);
  return sum;
}

// Parallel steps, twice.
export async function fan(width: number) {
  'use workflow';
  const first = await Promise.all(Array.from({ length: width }, (_, i) => slowly(i)));
  const second = await Promise.all(first.map((value) => add(value, 100)));
  return [...first, ...second];
}

// Sleeps, also in parallel with a step.
export async function nap(value: number) {
  'use workflow';
  const before = await add(value, 1);
  await sleep('1s');
  const [beside] = await Promise.all([slowly(before), sleep('2s')]);
  return add(beside, 1);
}

// A step that eventually succeeds, and one that does not.
export async function retried(value: string) {
  'use workflow';
  const got = await atTheThird(value);
  try {
    await neverThere();
  } catch (error) {
    return `${got}, ${(error as Error).message}`;
  }
  return got;
}

// A delivery from outside.
export async function delivered(token: string) {
  'use workflow';
  using hook = createHook<{ number: number }>({ token });
  const { number } = await hook;
  return add(number, 1);
}
