import type { Rid, TypeId } from '#core/value/rid.ts';
import { allocateBytes, type Image, imageOf } from '../format/bytes.ts';
import type { Direction } from '../format/direction.ts';
import { EdgePageReader } from '../format/edge-page.ts';
import type { EdgeRun } from '../format/edge-runs.ts';
import { EdgePageKey, edgePageKeySize, readEdgePageKey } from '../format/sub-databases.ts';
import { openPage } from '../read/edge-run-lookup.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';

/** Keys read in one call. */
const keysPerRead = 64;

/** Goes through one direction of an edge run, vertex by vertex; one with many entries comes several times. */
export class EdgeRunCursor {
  readonly run: number;
  readonly type: TypeId;
  readonly direction: Direction;
  /** `Infinity` at the end. */
  vertex = Number.POSITIVE_INFINITY;
  /** With the entries of the vertex. */
  readonly page = new EdgePageReader();
  readonly #reader: PinnedReader;
  #image: Image = imageOf(allocateBytes(8192));
  /** Of pages, the next one at `#at`; the page that is open comes before. */
  #keys: EdgePageKey[] = [];
  #at = 0;
  #current: EdgePageKey | undefined;
  #passed: EdgePageKey[] = [];

  /** @param from vertices before it are passed over */
  constructor(reader: PinnedReader, { number, type }: EdgeRun, direction: Direction, from: Rid) {
    this.#reader = reader;
    this.run = number;
    this.type = type;
    this.direction = direction;
    do this.next();
    while (this.vertex < from);
  }

  next(): void {
    while (this.#current === undefined || !this.page.next()) {
      if (this.#current !== undefined) this.#passed.push(this.#current);
      this.#current = this.#nextKey();
      if (this.#current === undefined) {
        this.vertex = Number.POSITIVE_INFINITY;
        return;
      }
      this.#open(this.#current);
    }
    this.vertex = this.page.vertex;
  }

  /** Keys of pages that it is behind of, each once. */
  takePassed(): readonly EdgePageKey[] {
    return this.#passed.splice(0);
  }

  /** The window is everybody's, so the page is copied out of it. */
  #open(key: EdgePageKey): void {
    if (!openPage(this.#reader, key, this.page)) return;
    const { window } = this.#reader;
    if (window.length > this.#image.bytes.length)
      this.#image = imageOf(allocateBytes(window.length));
    window.bytes.copy(this.#image.bytes, 0, window.base, window.base + window.length);
    this.page.open(this.#image, 0, key.vertex);
  }

  #nextKey(): EdgePageKey | undefined {
    if (this.#at === this.#keys.length) this.#readKeys();
    const key = this.#keys[this.#at];
    this.#at += 1;
    return key;
  }

  #readKeys(): void {
    const { subs, options } = this.#reader;
    const { sink } = subs;
    const last = this.#keys.at(-1);
    sink.length = 0;
    const range = {
      start: last ?? this.#key(0 as Rid, 0),
      exclusiveStart: last !== undefined,
      end: this.#key((2 ** 53 - 1) as Rid, 2 ** 32 - 1),
      limit: keysPerRead,
      transaction: options.transaction,
    };
    this.#keys = [...subs.runs.getKeys(range)].map((end) => {
      const { vertex, part } = readEdgePageKey(sink.bytes, end - edgePageKeySize);
      return this.#key(vertex, part);
    });
    this.#at = 0;
  }

  #key(vertex: Rid, part: number): EdgePageKey {
    const key = new EdgePageKey();
    key.run = this.run;
    key.type = this.type;
    key.direction = this.direction;
    key.vertex = vertex;
    key.part = part;
    return key;
  }
}
