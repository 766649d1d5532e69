/** Of what statements may bring the process to. Beyond it memory is short: the rest may be taken while a collection is under way. */
const shortShare = 5 / 6;
/** Of the container: so much more than at the lowest since memory was asked back, and it is asked back again. */
const againShare = 1 / 16;

export interface MemoryReturnOptions {
  /** Of the container. */
  readonly limitBytes: number;
  /** Up to which statements get more. */
  readonly bytesMax: number;
  /** Begins to give back what nobody uses any more. */
  readonly giveBack: () => void;
}

/**
 * Asks for memory back when the process takes much of its container: what statements let go of is garbage until it is collected, and
 * those that come next would be refused for it.
 */
export class MemoryReturn {
  readonly #giveBack: () => void;
  readonly #shortBytes: number;
  readonly #againBytes: number;
  #lowestBytes = 0;

  constructor({ limitBytes, bytesMax, giveBack }: MemoryReturnOptions) {
    this.#giveBack = giveBack;
    this.#shortBytes = bytesMax * shortShare;
    this.#againBytes = limitBytes * againShare;
  }

  /** The process takes so much now. */
  seen(usedBytes: number): void {
    if (usedBytes < this.#lowestBytes) this.#lowestBytes = usedBytes;
    if (usedBytes < Math.max(this.#shortBytes, this.#lowestBytes + this.#againBytes)) return;
    this.#lowestBytes = usedBytes;
    this.#giveBack();
  }
}
