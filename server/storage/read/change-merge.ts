/** Changes of entries of an index in chunks, in the order of their components; it stands at one of them. */
export interface ChangeSource {
  /** They hold the components of the change, from `start` to `end`, until the next step; undefined: there are no more. */
  readonly bytes: Uint8Array | undefined;
  readonly start: number;
  readonly end: number;
  /** The entry comes; else it is gone. */
  readonly isAddition: boolean;
  /** It holds no entry twice; absent: it may. */
  readonly isDistinct?: boolean;
  /** `prefixOf` its components. */
  readonly prefix: number;
  step(): void;
}

/** The first 42 bits of components as a number: most comparisons need no more. */
export function prefixOf(bytes: Uint8Array, start: number): number {
  const high =
    ((bytes[start] as number) << 24) |
    ((bytes[start + 1] as number) << 16) |
    ((bytes[start + 2] as number) << 8) |
    (bytes[start + 3] as number);
  const low = ((bytes[start + 4] as number) << 2) | ((bytes[start + 5] as number) >>> 6);
  return (high >>> 0) * 1024 + low;
}

/** Whole bytes that a prefix holds. */
export const prefixBytes = 5;

interface Ranked {
  readonly source: ChangeSource;
  /** Of the newest 0. */
  readonly age: number;
}

/** Several sources as one; where they change one entry, the newest counts, and of one source what it has first. */
export class ChangeMerge {
  /** By their changes, the next one last: most often it stays there when it has stepped. */
  readonly #ranked: Ranked[];
  #top: ChangeSource | undefined;
  #taken = new Uint8Array(64);
  /** Changes that were taken, those that others hid among them. */
  count = 0;

  /** @param sources the newest first */
  constructor(sources: readonly ChangeSource[]) {
    this.#ranked = sources
      .map((source, age) => ({ source, age }))
      .filter(({ source }) => source.bytes !== undefined)
      .sort((a, b) => compare(b, a));
    this.#top = this.#ranked.at(-1)?.source;
  }

  get bytes(): Uint8Array | undefined {
    return this.#top?.bytes;
  }

  get start(): number {
    return this.#top?.start ?? 0;
  }

  get end(): number {
    return this.#top?.end ?? 0;
  }

  get isAddition(): boolean {
    return this.#top?.isAddition ?? false;
  }

  /** The change has its place; to that of the next entry. */
  take(): void {
    const top = this.#top;
    if (top === undefined) return;
    if (top.isDistinct === true && this.#ranked.length === 1) {
      this.#step();
      return;
    }
    const { bytes, start, end, prefix } = top;
    const size = end - start;
    if (size > this.#taken.length) this.#taken = new Uint8Array(2 * size);
    const taken = this.#taken;
    for (let i = 0; i < size; i += 1) taken[i] = (bytes as Uint8Array)[start + i] as number;
    do this.#step();
    while (this.#isAt(taken, size, prefix));
  }

  #isAt(taken: Uint8Array, size: number, prefix: number): boolean {
    const top = this.#top;
    if (top === undefined || top.prefix !== prefix || top.end - top.start !== size) return false;
    const { bytes, start } = top;
    for (let i = prefixBytes; i < size; i += 1)
      if (taken[i] !== (bytes as Uint8Array)[start + i]) return false;
    return true;
  }

  #step(): void {
    const ranked = this.#ranked;
    const last = ranked.length - 1;
    const moved = ranked[last] as Ranked;
    moved.source.step();
    this.count += 1;
    if (moved.source.bytes === undefined) ranked.pop();
    else if (last > 0 && compare(moved, ranked[last - 1] as Ranked) > 0) {
      let low = 0;
      let high = last - 1;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (compare(ranked[middle] as Ranked, moved) > 0) low = middle + 1;
        else high = middle;
      }
      ranked.copyWithin(low + 1, low, last);
      ranked[low] = moved;
    }
    this.#top = ranked.at(-1)?.source;
  }
}

function compare(a: Ranked, b: Ranked): number {
  const left = a.source;
  const right = b.source;
  const difference = left.prefix - right.prefix;
  if (difference !== 0) return difference;
  const leftBytes = left.bytes as Uint8Array;
  const rightBytes = right.bytes as Uint8Array;
  const leftEnd = left.end;
  const rightEnd = right.end;
  let i = left.start + prefixBytes;
  let j = right.start + prefixBytes;
  for (; i < leftEnd && j < rightEnd; i += 1, j += 1) {
    const step = (leftBytes[i] as number) - (rightBytes[j] as number);
    if (step !== 0) return step;
  }
  return leftEnd - i - (rightEnd - j) || a.age - b.age;
}
