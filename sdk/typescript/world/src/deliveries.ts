import { processWide } from './process-wide.js';

/** How a delivery ended: the status and the JSON body of the answer. */
export interface Outcome {
  status: number;
  body: unknown;
}

// The deliveries whose handlers run, by queue and message. One that the server makes again while the
// first is still under way (the server was restarted, or its connection broke) waits for the first
// one's outcome: a second handler would do the same work beside it. An entry lives as long as its
// handler, so there are never more than handlers.
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
