// A customer: places an order, follows the lines that the run writes, and signs for the parcel.
// Usage: node order.mjs http://127.0.0.1:PORT [NUMBER]

const [app, number = '7'] = process.argv.slice(2);
const json = (body) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

const ordered = await fetch(`${app}/orders`, json({ number, items: ['pump', 'hose'], cents: 2500 }));
const { runId } = await ordered.json();
console.log(`ordered: ${runId}`);
const lines = await fetch(`${app}/orders/${runId}/lines`);
let text = '';
for await (const part of lines.body.pipeThrough(new TextDecoderStream())) {
  process.stdout.write(part);
  text += part;
  const path = /sign at (\S+)\n/.exec(text)?.[1];
  if (!path) continue;
  text = '';
  const signed = await fetch(`${app}${path}`, json({ signedBy: 'Ada' }));
  if (!signed.ok) throw new Error(`signing failed: ${signed.status}`);
}
