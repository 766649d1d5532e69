import type { PatternPart } from './query.ts';

/** Whether the whole term has the form of the pattern. Linear: the last run of any characters is the only place to go back to. */
export function matchesPattern(parts: readonly PatternPart[], term: string): boolean {
  const pattern: (string | 'one' | 'run')[] = [];
  for (const part of parts) {
    if (typeof part === 'object') pattern.push(part.any);
    else for (const char of part) pattern.push(`=${char}`);
  }
  const chars = Array.from(term);
  let at = 0;
  let place = 0;
  let runAt = -1;
  let runPlace = 0;
  while (at < chars.length) {
    const wanted = pattern[place];
    if (wanted === 'run') {
      runAt = at;
      runPlace = place;
      place += 1;
    } else if (wanted === 'one' || wanted === `=${chars[at]}`) {
      at += 1;
      place += 1;
    } else if (runAt >= 0) {
      runAt += 1;
      at = runAt;
      place = runPlace + 1;
    } else return false;
  }
  while (pattern[place] === 'run') place += 1;
  return place === pattern.length;
}
