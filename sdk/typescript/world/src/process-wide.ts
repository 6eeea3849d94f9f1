// State shared by all copies of this package in a process: bundlers create several copies, and the
// runtime creates several worlds.
export function processWide<T>(name: string, make: () => T): T {
  const holder = globalThis as unknown as Record<symbol, T | undefined>;
  return (holder[Symbol.for(`@everstep/world//${name}`)] ??= make());
}
