import type { Scenario } from './scenario.ts';
import type { E2eSettings } from './settings.ts';

/**
 * Those that are named, or else those up to a level: of level 0 all, of the others every n-th, so that a run a day passes all of
 * them in n days and each part has some of every family.
 */
export function choose<T extends Pick<Scenario, 'id' | 'level'>>(
  all: readonly T[],
  { only, level, part }: Pick<E2eSettings, 'only' | 'level' | 'part'>,
): readonly T[] {
  if (only.size > 0) return all.filter(({ id }) => only.has(id));
  const known = all.filter((scenario) => scenario.level <= level);
  const turns = new Map(known.filter((scenario) => scenario.level > 0).map((one, at) => [one, at]));
  return known.filter((scenario) => {
    const turn = turns.get(scenario);
    return turn === undefined || turn % part.of === part.number - 1;
  });
}
