// The message queue of the in-memory world. Delivers at least once, under one id; retries failed messages after 1, 2,
// 4 … 60 s. Messages of a run without a key are delivered one after another. A key is held until its message is done.

export function memoryQueue(newId) {
  let route; // the application's route
  let handler; // the handler behind the route; the runtime registers it when the route is first called
  const keys = new Map(); // key to its message
  const groups = new Map(); // group with a message in flight, to the messages waiting after it

  const deliver = async (message) => {
    const { group, name } = message;
    if (group) {
      const behind = groups.get(group);
      if (behind) return void behind.push(message);
      groups.set(group, []);
    }
    let again;
    try {
      if (!handler) await route(new Request('http://memory/.well-known/workflow/v1/flow', { method: 'POST' }));
      const answer = await handler(message.body, { queueName: name, messageId: message.id, attempt: message.attempt });
      again = answer?.timeoutSeconds;
    } catch {
      again = Math.min(2 ** (message.attempt - 1), 60);
      message.attempt += 1;
    }
    if (group) {
      const [next, ...rest] = groups.get(group);
      groups.delete(group);
      if (next) {
        void deliver(next);
        groups.set(group, rest);
      }
    }
    if (again !== undefined) later(message, again);
    else if (message.key) keys.delete(message.key);
  };
  const later = (message, seconds) => {
    if (seconds > 0) setTimeout(deliver, seconds * 1000, message);
    else setImmediate(deliver, message);
  };

  return {
    // Sets the route that receives messages, in place of a port.
    attach: (post) => (route = post),
    getDeploymentId: async () => 'memory',
    async queue(name, body, options) {
      const run = body.runId ?? body.workflowRunId;
      const key = options?.idempotencyKey && `${name} ${run} ${options.idempotencyKey}`;
      if (key && keys.has(key)) return { messageId: keys.get(key).id };
      const message = { id: newId('msg'), name, body, attempt: 1, key, group: key ? undefined : run };
      if (key) keys.set(key, message);
      later(message, options?.delaySeconds ?? 0);
      return { messageId: message.id };
    },
    createQueueHandler(_prefix, handle) {
      handler = handle;
      return async () => Response.json({ ok: true });
    },
  };
}
