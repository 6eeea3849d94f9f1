import { processWide } from './process-wide.js';

/** The outcome of a delivery: the status and the JSON body of the answer. */
export interface Outcome {
  status: number;
  body: unknown;
}

// Deliveries whose handlers are running, by queue and message. If the server repeats one while the
// first is still in flight (the server was restarted, or its connection broke), the repetition
// waits for the outcome of the first: a second handler would do the same work in parallel. An entry
// lives as long as its handler, so there are never more entries than handlers.
const running = () => processWide('deliveries', () => new Map<string, Promise<Outcome>>());

export function deliverOnce(
  queueName: string,
  messageId: string,
  handle: () => Promise<Outcome>,
): Promise<Outcome> {
  const key = `${queueName}\n${messageId}`;
  const deliveries = running();
  let delivery = deliveries.get(key);
  if (!delivery) {
    delivery = handle().finally(() => deliveries.delete(key));
    deliveries.set(key, delivery);
  }
  return delivery;
}
