// The queue of the world in memory: at least once, under one id; what failed comes again after 1, 2, 4 … 60 s; messages
// of a run without a key come one after the other; a key is held until its message is done.

export function memoryQueue(newId) {
  let route; // of the application
  let handler; // what the route comes to; the runtime makes it when the route is called first
  const keys = new Map(); // to the message
  const groups = new Map(); // with a message under way, to those behind it

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
    // Where the application takes messages: instead of a port.
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
