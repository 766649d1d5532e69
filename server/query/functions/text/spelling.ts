import { levenshteinDistance } from '../namespaced/text-similarity.ts';

const nameLengthMax = 64;

/** Names that other SQL dialects use for what is called otherwise here (sql-functions.md 10). */
const foreignNames: ReadonlyMap<string, string> = new Map([
  ['bigdecimal', '.asDecimal'],
  ['ceil', 'math_ceil'],
  ['ceiling', 'math_ceil'],
  ['char_length', '.length'],
  ['current_timestamp', 'sysdate'],
  ['date_format', '.format'],
  ['decimal', '.asDecimal'],
  ['floor', 'math_floor'],
  ['group_concat', 'concat'],
  ['isnull', 'ifnull'],
  ['len', '.length'],
  ['lower', '.toLowerCase'],
  ['now', 'sysdate'],
  ['nvl', 'ifnull'],
  ['power', 'pow'],
  ['rand', 'randomInt'],
  ['round', 'math_round'],
  ['string_agg', 'concat'],
  ['substr', '.subString'],
  ['ucase', '.toUpperCase'],
  ['lcase', '.toLowerCase'],
  ['upper', '.toUpperCase'],
]);

/**
 * The name that a misspelt one most likely means: a known foreign name, a method of that name, a name that begins with it,
 * or one of which at most a quarter of the characters differ, methods last; ties go to the first in alphabetical order.
 * Methods start with a dot.
 */
export function closestName(written: string, names: readonly string[]): string | undefined {
  if (written.length === 0 || written.length > nameLengthMax) return undefined;
  const key = written.toLowerCase();
  const isMethod = key.startsWith('.');
  const foreign = foreignNames.get(isMethod ? key.slice(1) : key);
  if (foreign !== undefined && (!isMethod || foreign.startsWith('.'))) return foreign;
  const sorted = [...names].sort();
  if (!isMethod) {
    const ownMethod = sorted.find((name) => name.toLowerCase() === `.${key}`);
    if (ownMethod !== undefined) return ownMethod;
  }
  const candidates = sorted.filter((name) => name.startsWith('.') === isMethod);
  const closest = closestBySpelling(key, candidates) ?? longerName(key, candidates);
  if (closest !== undefined || isMethod) return closest;
  const methods = sorted.filter((name) => name.startsWith('.'));
  return closestBySpelling(`.${key}`, methods);
}

function closestBySpelling(key: string, names: readonly string[]): string | undefined {
  let closest: string | undefined;
  let least = Math.max(1, Math.floor(key.length / 4)) + 1;
  for (const name of names) {
    if (Math.abs(name.length - key.length) >= least) continue;
    const distance = spellingDistance(key, name.toLowerCase());
    if (distance < least) {
      least = distance;
      closest = name;
    }
  }
  return closest;
}

/** Levenshtein's distance, with two neighbours in the wrong order counted as one mistake. */
function spellingDistance(a: string, b: string): number {
  const distance = levenshteinDistance(a, b);
  if (distance !== 2 || a.length !== b.length) return distance;
  let at = 0;
  while (a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return a.charAt(at) === b.charAt(at + 1) && a.charAt(at + 1) === b.charAt(at) ? 1 : distance;
}

/** A name that begins with the written one, one mistake forgiven. */
function longerName(key: string, names: readonly string[]): string | undefined {
  if (key.length < (key.startsWith('.') ? 5 : 4)) return undefined;
  const begins = (name: string, length: number) =>
    spellingDistance(key, name.toLowerCase().slice(0, length)) <= 1;
  return (
    names.find((name) => name.toLowerCase().startsWith(key)) ??
    names.find((name) => begins(name, key.length) || begins(name, key.length + 1))
  );
}
