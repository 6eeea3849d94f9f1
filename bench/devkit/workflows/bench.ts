async function add(n: number): Promise<number> {
  'use step';
  return n + 1;
}

export async function tenSteps(): Promise<number> {
  'use workflow';
  let n = 0;
  for (let i = 0; i < 10; ++i) n = await add(n);
  return n;
}
