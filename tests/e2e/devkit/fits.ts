// What the package makes is a World of the generation that is installed: compiled, and never run.

import { createWorld } from '@everstep/world';
import type { World } from '@workflow/world';

export const world: World = createWorld();
world.runs.get('wrun_1').then((run) => run.status);

// The types are there: what is not found would fit everything.
// @ts-expect-error
export const nothing: World = {};
// @ts-expect-error
createWorld().runs.get(7);
