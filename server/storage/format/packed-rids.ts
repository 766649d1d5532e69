import { bucketCountMax, bucketOf, type Rid } from '#core/value/rid.ts';
import { readRidBytes, ridSize, writeRid } from './sub-databases.ts';

/** Positions of one bucket, so that three bytes take them. */
const positionsMax = 2 ** 24;
/** Buckets, so that what is said of them takes a few bytes of a page. */
export const basesMax = 64;

/**
 * Record ids of few buckets in four bytes each: a number of the bucket in the highest byte, and how far the position is from the
 * lowest one of that bucket.
 */
export class PackedRids {
  /** By number: the lowest record id of each bucket. */
  readonly bases: readonly Rid[];
  readonly #numbers = new Uint8Array(bucketCountMax);

  private constructor(bases: readonly Rid[]) {
    this.bases = bases;
    for (const [number, base] of bases.entries()) this.#numbers[bucketOf(base)] = number;
  }

  /** @returns undefined when they do not fit */
  static of(ranges: RidRanges): PackedRids | undefined {
    const bases = ranges.bases();
    return bases === undefined ? undefined : new PackedRids(bases);
  }

  pack(rid: Rid): number {
    const number = this.#numbers[bucketOf(rid)] as number;
    return number * positionsMax + (rid - (this.bases[number] as number));
  }
}

/** Which record ids there are: in each bucket from where to where. */
export class RidRanges {
  readonly #low = new Float64Array(bucketCountMax).fill(Number.POSITIVE_INFINITY);
  readonly #high = new Float64Array(bucketCountMax);

  add(rids: Float64Array): void {
    const low = this.#low;
    const high = this.#high;
    for (let i = 0; i < rids.length; i += 1) {
      const rid = rids[i] as Rid;
      const bucket = bucketOf(rid);
      if (rid < (low[bucket] as number)) low[bucket] = rid;
      if (rid > (high[bucket] as number)) high[bucket] = rid;
    }
  }

  /** @returns undefined when there are more, or further from each other, than `PackedRids` can tell apart */
  bases(): readonly Rid[] | undefined {
    const bases: Rid[] = [];
    for (let bucket = 0; bucket < bucketCountMax; bucket += 1) {
      const low = this.#low[bucket] as number;
      if (low === Number.POSITIVE_INFINITY) continue;
      if ((this.#high[bucket] as number) - low >= positionsMax) return undefined;
      bases.push(low as Rid);
    }
    return bases.length > basesMax ? undefined : bases;
  }
}

/** @returns where the bytes go on */
export function writeBases(bytes: Uint8Array, start: number, bases: readonly Rid[]): number {
  let at = start;
  for (const base of bases) {
    writeRid(bytes, at, base);
    at += ridSize;
  }
  return at;
}

/** Reads the bases of so many buckets into an array that is long enough. @returns where the bytes go on */
export function readBases(
  bytes: Uint8Array,
  start: number,
  { into, count }: { readonly into: Float64Array; readonly count: number },
): number {
  let at = start;
  for (let number = 0; number < count; number += 1) {
    into[number] = readRidBytes(bytes, at);
    at += ridSize;
  }
  return at;
}

/** @param bases as `readBases` gave them */
export function unpacked(packed: number, bases: Float64Array): Rid {
  return ((bases[packed >>> 24] as number) + (packed & (positionsMax - 1))) as Rid;
}
