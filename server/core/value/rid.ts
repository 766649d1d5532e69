import { DatabaseError } from '../errors.ts';

declare const ridBrand: unique symbol;
declare const bucketBrand: unique symbol;
declare const logIndexBrand: unique symbol;
declare const typeBrand: unique symbol;
declare const propertyBrand: unique symbol;
declare const indexBrand: unique symbol;

/** A record id packed into one exact number: `bucket * 2^37 + position`, so it is usable as a Map key. */
export type Rid = number & { readonly [ridBrand]: true };
/** A physical partition of a type, below 2^16. */
export type BucketId = number & { readonly [bucketBrand]: true };
/** LSN: the place of an entry in the log (in a cluster the Raft index); 0 means none. */
export type LogIndex = number & { readonly [logIndexBrand]: true };
export type TypeId = number & { readonly [typeBrand]: true };
export type PropertyId = number & { readonly [propertyBrand]: true };
export type IndexId = number & { readonly [indexBrand]: true };

const positionsPerBucket = 2 ** 37;
/** Exclusive upper bounds of the two parts of a record id. */
export const bucketCountMax = 2 ** 16;
export const positionMax = positionsPerBucket;

/** Packs two parts that are known to be in range; cost: one multiplication. */
export function makeRid(bucket: BucketId | number, position: number): Rid {
  return (bucket * positionsPerBucket + position) as Rid;
}

export function bucketOf(rid: Rid): BucketId {
  return Math.floor(rid / positionsPerBucket) as BucketId;
}

export function positionOf(rid: Rid): number {
  // A remainder of doubles is a call of the library, ten times as slow; both are exact for a power of two.
  return rid - Math.trunc(rid / positionsPerBucket) * positionsPerBucket;
}

/** `#bucket:position`. */
export function formatRid(rid: Rid): string {
  return `#${bucketOf(rid)}:${positionOf(rid)}`;
}

const ridShape = /^#?(-?\d{1,19}):(-?\d{1,19})$/;

/** True for text that starts with `#` and has exactly two integer parts (sql.md 1.2). */
export function isRidShaped(text: string): boolean {
  return text.length > 3 && text.charCodeAt(0) === 35 && ridShape.test(text);
}

/**
 * Reads `#bucket:position` or `bucket:position`.
 * @returns undefined when the text has another shape; ids out of range (negative ones too) give `noRid`, which no record has
 */
export function parseRid(text: string): Rid | undefined {
  const plain = plainRid(text);
  if (plain !== undefined) return plain;
  const match = ridShape.exec(text);
  if (!match) return undefined;
  const bucket = Number(match[1]);
  const position = Number(match[2]);
  if (bucket < 0 || position < 0 || bucket >= bucketCountMax || position >= positionMax)
    return noRid;
  return makeRid(bucket, position);
}

/** Ids in range without a sign, which all that come from here are: a tenth of the time of a regular expression. */
function plainRid(text: string): Rid | undefined {
  const { length } = text;
  let at = text.charCodeAt(0) === 35 ? 1 : 0;
  let bucket = 0;
  const bucketAt = at;
  for (; at < length; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) break;
    bucket = bucket * 10 + digit;
  }
  if (at === bucketAt || at - bucketAt > 5 || text.charCodeAt(at) !== 58) return undefined;
  const positionAt = at + 1;
  let position = 0;
  for (at = positionAt; at < length; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return undefined;
    position = position * 10 + digit;
  }
  if (at === positionAt || at - positionAt > 12) return undefined;
  return bucket < bucketCountMax && position < positionMax ? makeRid(bucket, position) : undefined;
}

/** What messages say about ids that no record can have. */
export const ridBounds = `buckets end at ${bucketCountMax - 1}, positions at ${positionMax - 1}`;

/** True for a spelt record id above every id that a record can have; negative ones stand for records yet to be written. */
export function isBeyondRids(text: string): boolean {
  return !text.includes('-') && parseRid(text) === noRid;
}

/** The id of unsaved records; formats as `#-1:-1` nowhere, it never reaches a client. */
export const noRid = -1 as Rid;

/** @throws DatabaseError `IllegalArgument` for text that is no record id */
export function requireRid(text: string): Rid {
  const rid = parseRid(text);
  if (rid === undefined) throw new DatabaseError('IllegalArgument', `'${text}' is not a record id`);
  return rid;
}
