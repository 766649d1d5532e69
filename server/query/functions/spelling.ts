import { levenshteinDistance } from './namespaced/text-similarity.ts';

const nameLengthMax = 64;

/**
 * The name that a misspelt one most likely means: at most a third of its characters differ. Names of methods start with a
 * dot and are only suggested for methods. Ties go to the first in alphabetical order.
 */
export function closestName(written: string, names: readonly string[]): string | undefined {
  if (written.length === 0 || written.length > nameLengthMax) return undefined;
  const isMethod = written.startsWith('.');
  let closest: string | undefined;
  let least = Math.max(1, Math.floor(written.length / 3)) + 1;
  for (const name of [...names].sort()) {
    if (name.startsWith('.') !== isMethod) continue;
    if (Math.abs(name.length - written.length) >= least) continue;
    const distance = levenshteinDistance(written.toLowerCase(), name.toLowerCase());
    if (distance < least) {
      least = distance;
      closest = name;
    }
  }
  return closest;
}
