// Checks that the package's world has the type World of the installed generation. Only compiled,
// never run.

import { createWorld } from '@everstep/world';
import type { World } from '@workflow/world';

export const world: World = createWorld();
world.runs.get('wrun_1').then((run) => run.status);

// Checks that the types are found: an unresolved type would accept anything.
// @ts-expect-error
export const nothing: World = {};
// @ts-expect-error
createWorld().runs.get(7);
