// The workload on Restate: a service whose handlers execute `steps` durable steps.
import * as restate from "@restatedev/restate-sdk";

const work = async (ctx, steps) => {
  for (let i = 0; i < steps; i++) await ctx.run(`s${i}`, () => 1);
  return steps;
};

restate.serve({
  services: [
    restate.service({
      name: "bench",
      handlers: { one: (ctx) => work(ctx, 1), ten: (ctx) => work(ctx, 10) },
    }),
  ],
  port: Number(process.argv[2]),
});
