import { crc32 } from 'node:zlib';
import { checkedStores } from '../environment/check.ts';

// How a database travels between servers: its keys and values, sub-database by sub-database in the order of their keys, in parts of a
// megabyte or so, and a manifest behind them. A part is u32 bytes of its content, u32 CRC-32 of it, content; the content is u8 place of
// the sub-database, then u16 bytes of the key, u32 bytes of the value, key, value for each. Integers are little-endian.

/** A sub-database travels by its place here. */
export const sentStores = [...checkedStores, 'ix'] as const;
/** In place of a sub-database: the content is the manifest. */
const manifestPlace = 255;

export const partHeadBytes = 8;
export const entryHeadBytes = 6;
/** A part ends with the entry before this many bytes, and with any larger one alone. */
export const partBytes = 1024 * 1024;

/** What is behind the last part: without it the rest is not whole. */
export interface PartManifest {
  readonly version: 1;
  readonly database: string;
  readonly uuid: string | null;
  readonly appliedIndex: number;
  readonly lastTxId: number;
  readonly partCount: number;
  readonly valueCount: number;
}

/** Fills in the head of a part whose content stands behind it. */
export function sealPart(part: Buffer): Buffer {
  part.writeUInt32LE(part.length - partHeadBytes, 0);
  part.writeUInt32LE(crc32(part.subarray(partHeadBytes)), 4);
  return part;
}

export function isIntactPart(part: Buffer): boolean {
  return crc32(part.subarray(partHeadBytes)) === part.readUInt32LE(4);
}

export function manifestPart(manifest: PartManifest): Buffer {
  const text = JSON.stringify(manifest);
  const part = Buffer.alloc(partHeadBytes + 1 + Buffer.byteLength(text));
  part[partHeadBytes] = manifestPlace;
  part.write(text, partHeadBytes + 1);
  return sealPart(part);
}

export function isManifestPart(part: Buffer): boolean {
  return part[partHeadBytes] === manifestPlace;
}

/** @throws Error for what is no manifest of this version */
export function readManifestPart(part: Buffer): PartManifest {
  const read = JSON.parse(part.toString('utf8', partHeadBytes + 1)) as Partial<PartManifest>;
  const counts = [read.appliedIndex, read.lastTxId, read.partCount, read.valueCount];
  const isSound =
    read.version === 1 &&
    typeof read.database === 'string' &&
    (read.uuid === null || typeof read.uuid === 'string') &&
    counts.every((count) => Number.isSafeInteger(count));
  if (!isSound) throw new Error('its manifest is none of this version');
  return read as PartManifest;
}

/** Puts parts together from pieces of any length; holds one part at most. */
export class PartCollector {
  readonly #bytesMax: number;
  readonly #head = Buffer.alloc(partHeadBytes);
  #part: Buffer | undefined;
  #filled = 0;

  /** @param bytesMax of one part */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Nothing of a part is here that is not whole. */
  get isEmpty(): boolean {
    return this.#filled === 0;
  }

  /** @returns the parts that are whole now @throws Error for one that is too long */
  take(piece: Uint8Array): readonly Buffer[] {
    const whole: Buffer[] = [];
    for (let at = 0; at < piece.length; ) {
      const target = this.#part ?? this.#head;
      const taken = Math.min(target.length - this.#filled, piece.length - at);
      target.set(piece.subarray(at, at + taken), this.#filled);
      at += taken;
      this.#filled += taken;
      if (this.#filled < target.length) continue;
      if (this.#part === undefined) this.#begin();
      else {
        whole.push(this.#part);
        this.#part = undefined;
        this.#filled = 0;
      }
    }
    return whole;
  }

  #begin(): void {
    const length = this.#head.readUInt32LE(0);
    if (length === 0 || length > this.#bytesMax)
      throw new Error(`a part has ${length} bytes, not 1 to ${this.#bytesMax}`);
    this.#part = Buffer.allocUnsafeSlow(partHeadBytes + length);
    this.#part.set(this.#head);
  }
}
