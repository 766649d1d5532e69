import { DatabaseError } from '#core/errors.ts';
import { editDistance } from '#core/text/edit-distance.ts';

/** limits.md 22: characters (code points) of a type, property, bucket or index name. */
export const nameLengthMax = 256;

/**
 * Refuses names outside limits.md 22: 1 to 256 characters, no control characters, no lone surrogates. Names are not
 * normalised, so look-alikes are different names.
 * @throws DatabaseError `SchemaLimit` (HTTP 400) naming the rule
 */
export function requireName(what: string, name: string, lengthMax = nameLengthMax): void {
  let isEmpty = true;
  for (const character of name) {
    const code = character.codePointAt(0) ?? 0;
    isEmpty = false;
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) {
      throw refusal(what, name, 'must not contain control characters');
    }
  }
  if (isEmpty) throw refusal(what, name, 'must not be empty');
  requireLength(what, name, Math.min(lengthMax, nameLengthMax));
  if (!name.isWellFormed()) throw refusal(what, name, 'is not valid Unicode text');
}

/** @param lengthMax `service.maxNameLength`, in code points @throws DatabaseError `SchemaLimit` naming the setting */
export function requireLength(what: string, name: string, lengthMax: number): void {
  // A code point has at most two units.
  if (name.length <= lengthMax || [...name].length <= lengthMax) return;
  const rule = `is longer than the limit of ${lengthMax} characters (service.maxNameLength)`;
  throw refusal(what, name, rule);
}

function refusal(what: string, name: string, rule: string): DatabaseError {
  const shown = name.length > 60 ? `${name.slice(0, 60)}...` : name;
  return new DatabaseError('SchemaLimit', `${what} name ${JSON.stringify(shown)} ${rule}`);
}

/**
 * The candidate closest to a name that was not found, as a hint for an error's `help`; undefined when nothing is close.
 * Cost: O(candidates * length^2), and never more than 2,000 candidates.
 */
export function didYouMean(name: string, candidates: Iterable<string>): string | undefined {
  const lower = name.toLowerCase();
  if (lower.length > nameLengthMax) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(lower.length / 3)) + 1;
  let looked = 0;
  for (const candidate of candidates) {
    looked += 1;
    if (looked > 2_000) break;
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best === undefined ? undefined : `did you mean '${best}'?`;
}
