// An order: its items are packed in parallel, the card is charged with a retry, the run sleeps
// while the parcel is on its way, waits for the carrier's webhook, and writes its progress to a
// stream.

import { createWebhook, FatalError, getStepMetadata, getWritable, RetryableError, sleep } from 'workflow';

export interface Order {
  number: string;
  items: string[];
  cents: number;
}

async function say(line: string): Promise<void> {
  'use step';
  const writer = getWritable<string>().getWriter();
  await writer.write(line);
  writer.releaseLock();
}

// Writes the last line and closes in one step: what a step wrote may still be in transit when it
// ends.
async function finish(line: string): Promise<void> {
  'use step';
  const writer = getWritable<string>().getWriter();
  await writer.write(line);
  await writer.close();
}

async function pack(item: string): Promise<string> {
  'use step';
  return `packed ${item}`;
}

async function charge(cents: number): Promise<string> {
  'use step';
  const { attempt } = getStepMetadata();
  if (cents > 100_000) throw new FatalError('the card was declined');
  if (attempt < 2) throw new RetryableError('the bank does not answer', { retryAfter: 1000 });
  return `charged ${cents / 100} EUR at attempt ${attempt}`;
}

export async function ship(order: Order) {
  'use workflow';
  const packed = await Promise.all(order.items.map(pack));
  await say(`order ${order.number}: ${packed.length} items packed`);
  const charged = await charge(order.cents);
  await say(charged);
  await sleep('2s');
  using delivery = createWebhook();
  await say(`on its way; sign at ${new URL(delivery.url).pathname}`);
  const request = await delivery;
  const { signedBy } = (await request.json()) as { signedBy: string };
  await finish(`signed by ${signedBy}`);
  return { packed, charged, signedBy };
}
