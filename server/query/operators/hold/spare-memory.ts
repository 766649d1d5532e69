/** What is smaller is left to the collector. */
const bytesMin = 64 * 1024;
/** So that what grows a little between two statements still fits. */
const granularity = 64 * 1024;

/**
 * Large pieces of memory that executions use one after the other. New ones for each would call for a full garbage collection
 * every 10 to 30 MB, which stops everything for 3 to 24 ms; a count over the steps of a million edges takes 24 MB. Up to a
 * bound of bytes, of which the oldest are freed at once.
 */
export class SpareMemory {
  readonly #bytesMax: number;
  /** In the order in which they were given back. */
  readonly #spare: ArrayBuffer[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that nobody uses. */
  get bytes(): number {
    return this.#bytes;
  }

  /** At least `bytes`, with anything in them. */
  take(bytes: number): ArrayBuffer {
    if (bytes < bytesMin) return new ArrayBuffer(bytes);
    const at = this.#closest(bytes);
    const [found] = at < 0 ? [] : this.#spare.splice(at, 1);
    if (found === undefined) return new ArrayBuffer(Math.ceil(bytes / granularity) * granularity);
    this.#bytes -= found.byteLength;
    return found;
  }

  /** Nobody may look at the memory any more, or give it back again. */
  giveBack(memory: ArrayBuffer): void {
    if (memory.byteLength < bytesMin || memory.byteLength > this.#bytesMax) return;
    this.#spare.push(memory);
    this.#bytes += memory.byteLength;
    while (this.#bytes > this.#bytesMax) {
      const oldest = this.#spare.shift() as ArrayBuffer;
      this.#bytes -= oldest.byteLength;
      oldest.transfer(0);
    }
  }

  /** The smallest that is large enough and not more than twice as large; -1 when there is none. */
  #closest(bytes: number): number {
    let closest = -1;
    let length = bytes * 2 + 1;
    for (let at = 0; at < this.#spare.length; at += 1) {
      const { byteLength } = this.#spare[at] as ArrayBuffer;
      if (byteLength < bytes || byteLength >= length) continue;
      closest = at;
      length = byteLength;
    }
    return closest;
  }
}

/** Of the process. What a count over three steps of a million edges takes fits: 33 MB. */
export const spareMemory: SpareMemory = new SpareMemory(40 * 1024 * 1024);

/** `count` numbers, whatever they are. */
export function takeNumbers(count: number): Float64Array<ArrayBuffer> {
  return new Float64Array(spareMemory.take(count * 8), 0, count);
}
