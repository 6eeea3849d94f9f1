// State that all copies of this package in a process share. Bundlers make several, and the runtime
// makes several worlds.
export function processWide<T>(name: string, make: () => T): T {
  const holder = globalThis as unknown as Record<symbol, T | undefined>;
  return (holder[Symbol.for(`@everstep/world//${name}`)] ??= make());
}
