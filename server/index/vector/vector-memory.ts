import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { EntryReader } from '../entry-reader.ts';
import type { BackgroundWork, ChangeListener } from '../search-memory.ts';
import { CoarseCodes } from './coarse-codes.ts';
import { graphOptions, listWidth, VectorGraph } from './graph.ts';
import { graphLinker, type LinkJob } from './graph-linker.ts';
import { SlotBlock, type SlotForm } from './slot-block.ts';
import { SlotTable } from './slot-table.ts';
import { newSpace, type VectorSpace, vectorForm } from './space.ts';
import { readVector, vectorKey } from './vector-keys.ts';
import type { VectorSettings } from './vector-settings.ts';

interface Change {
  readonly version: LogIndex;
  readonly rid: Rid;
}

/** Changes that are remembered for older snapshots. */
const recentMax = 20_000;
/** Vectors below which looking at all of them is as quick as a graph. */
export const graphWorthMin = 2_000;
/** A graph is made anew when so large a share of its slots is gone. */
const goneShareMax = 0.3;
/** From so many slots on they are linked by a thread, fewer in turns of the event loop. */
const threadWorthMin = 4_000;
/** Numbers of vectors of which codes are made between two looks at the meter, and what they count. */
const codedPerLook = 16_384;
const unitsPerCoded = 64;
/** Slots linked in one turn. */
const linksPerTurn = 4;
/** Spaces that learn do so again when there are so many times the vectors. */
const taughtShareMax = 4;
const vectorsPerLook = 16;
/** A record id by slot, a slot by record id, and a mark of the walks. */
const ridBytes = 28;
const unitsPerLook = 256;
/** Slots are reserved for this many times the vectors there are. */
const roomShare = 1.25;

/**
 * The vectors of one index in memory, as they are at `lsn`, and a graph over the first of them. Nothing of it is stored: it is read
 * from the records when it is first needed, told of changes, and brought up to date by searches (ha.md 5.2 rule 4). Searches
 * with an older snapshot look at what changed since in the records.
 */
export class VectorMemory implements ChangeListener {
  readonly settings: VectorSettings;
  readonly #form: SlotForm;
  #block: SlotBlock;
  space: VectorSpace;
  graph: VectorGraph;
  /** By slot; -1: gone. */
  rids = new Float64Array(0);
  slotCount = 0;
  /** How often everything was forgotten. */
  lives = 0;
  readonly #slots = new SlotTable();
  /** Of full vectors, since a search had to go through many. */
  #codes: CoarseCodes | undefined;
  readonly #background: BackgroundWork;
  readonly #mayTake: (bytes: number) => boolean;
  #lsn: LogIndex = 0 as LogIndex;
  #state: 'absent' | 'loading' | 'ready' = 'absent';
  /** Told and not taken over yet, in order of versions. */
  #dirty: Change[] = [];
  /** Taken over. */
  #recent: Change[] = [];
  /** Changes up to here are not in `#recent` any more. */
  #recentFloor: LogIndex = 0 as LogIndex;
  /** Vectors that the space has learnt from. */
  #trainedCount = 0;
  #isLinking = false;
  #job: LinkJob | undefined;
  #scratch: Float32Array;

  /** @param mayTake whether so many bytes more are within the budget */
  constructor(
    settings: VectorSettings,
    background: BackgroundWork,
    mayTake: (bytes: number) => boolean,
  ) {
    this.settings = settings;
    this.#background = background;
    this.#mayTake = mayTake;
    this.#form = { ...vectorForm(settings), width: listWidth(graphOptions(settings)) };
    this.#block = new SlotBlock(this.#form);
    this.space = newSpace(this.#block, settings);
    this.graph = new VectorGraph(this.#block, this.space, graphOptions(settings));
    this.#scratch = new Float32Array(settings.dimensions);
  }

  /** Vectors there are. */
  get count(): number {
    return this.#slots.size;
  }

  get bytes(): number {
    const ids = this.rids.byteLength + this.#slots.bytes;
    return ids + this.#block.byteLength + this.graph.bytes + (this.#codes?.bytes ?? 0);
  }

  get facts(): Readonly<Record<string, number>> {
    const linkedCount = Math.min(this.graph.count, this.slotCount);
    return { vectorsInMemory: this.count, vectorsLinked: linkedCount, memoryBytes: this.bytes };
  }

  /** Whether there is room for so many vectors, with some to come. */
  #mayHold(count: number): boolean {
    const wanted = Math.ceil(count * roomShare) + 16;
    const bytes = wanted * (this.#block.slotBytes + ridBytes) + this.#form.commonBytes;
    return wanted <= SlotBlock.slotsMax(this.#form) && this.#mayTake(bytes);
  }

  /** -1: the record has none. */
  slotOf(rid: Rid): number {
    return this.#slots.get(rid, this.rids);
  }

  get bytesPerVector(): number {
    return this.#form.vectorBytes;
  }

  changed(version: LogIndex, rid: Rid): void {
    if (this.#state !== 'absent') this.#dirty.push({ version, rid });
  }

  entry(): void {
    // Every change of a record is told.
  }

  /**
   * Makes the memory serve the reader's snapshot.
   * @returns the records of which the snapshot has another vector than the memory; undefined when it cannot serve the snapshot
   */
  *prepare(reader: EntryReader, meter: WorkMeter): PausingWork<ReadonlySet<Rid> | undefined> {
    if (this.#state === 'loading') return undefined;
    if (this.#state === 'ready' && this.#isUntaught) this.stop();
    if (this.#state === 'absent') {
      if (reader.memory.newest > reader.lsn || !reader.memory.isTold) return undefined;
      // Above the budget vectors are read from their records: slow, and right.
      if (!this.#mayHold(reader.storedCount)) return undefined;
      yield* this.#load(reader, meter);
    }
    if (reader.lsn >= this.#lsn) yield* this.#takeOver(reader, meter);
    if (this.#state !== 'ready') return undefined;
    if (reader.lsn < this.#recentFloor) return undefined;
    const others = this.changedAfter(reader.lsn);
    for (const { version, rid } of this.#dirty) if (version <= reader.lsn) others.add(rid);
    return others;
  }

  /** It can tell what has changed since a snapshot. */
  knowsSince(lsn: LogIndex): boolean {
    return this.#state === 'ready' && lsn >= this.#recentFloor;
  }

  /** Records of which the memory has a newer vector than a snapshot. */
  changedAfter(lsn: LogIndex): Set<Rid> {
    const rids = new Set<Rid>();
    for (let i = this.#recent.length - 1; i >= 0; i -= 1) {
      const { version, rid } = this.#recent[i] as Change;
      if (version <= lsn) break;
      rids.add(rid);
    }
    return rids;
  }

  *#load(reader: EntryReader, meter: WorkMeter): PausingWork<void> {
    this.#state = 'loading';
    let isDone = false;
    try {
      this.#reserve(Math.max(64, reader.storedCount));
      yield* this.#train(reader, meter);
      const cursor = reader.stored(vectorKey, Uint8Array.of(0x03));
      try {
        for (let seen = 1; cursor.next(); seen += 1) {
          this.#put(cursor.rid, reader);
          if (seen % vectorsPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
        }
      } finally {
        cursor.close();
      }
      this.#lsn = reader.lsn;
      this.#recentFloor = reader.lsn;
      isDone = true;
    } finally {
      this.#state = isDone ? 'ready' : 'absent';
      if (!isDone) this.#forgetAll();
    }
    this.linkInBackground();
  }

  /** Lets the space learn from vectors that stand evenly apart in the order of the records. */
  *#train(reader: EntryReader, meter: WorkMeter): PausingWork<void> {
    const wanted = Math.min(this.space.trainingCount, reader.storedCount);
    this.#trainedCount = wanted;
    if (this.space.trainingCount === 0) return;
    const { property, dimensions } = this.settings;
    const vectors = new Float32Array(wanted * dimensions);
    let [seen, count] = [0, 0];
    const cursor = reader.stored(vectorKey, Uint8Array.of(0x03));
    try {
      for (; count < wanted && cursor.next(); seen += 1) {
        if (seen * wanted < count * reader.storedCount) continue;
        const record = reader.storedRecord(cursor.rid);
        if (record === undefined) continue;
        if (readVector(record, property, vectors, count * dimensions, dimensions)) count += 1;
        if (count % vectorsPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
      }
    } finally {
      cursor.close();
    }
    yield* this.space.train(vectors.subarray(0, count * dimensions), meter);
  }

  /** What the space learnt was learnt from few of the vectors there are now. */
  get #isUntaught(): boolean {
    const taught = this.#trainedCount;
    return taught < this.space.trainingCount && this.#slots.size > taught * taughtShareMax;
  }

  *#takeOver(reader: EntryReader, meter: WorkMeter): PausingWork<void> {
    let taken = 0;
    while (taken < this.#dirty.length) {
      const change = this.#dirty[taken] as Change;
      if (change.version > reader.lsn) break;
      this.#put(change.rid, reader);
      this.#recent.push(change);
      taken += 1;
      if (taken % vectorsPerLook === 0 && meter.isSpent(unitsPerLook)) {
        this.#dirty.splice(0, taken);
        taken = 0;
        yield;
        if (this.#state !== 'ready') return;
      }
    }
    if (taken > 0) this.#dirty.splice(0, taken);
    if (this.#recent.length > recentMax) {
      const dropped = this.#recent.splice(0, this.#recent.length - recentMax / 2);
      this.#recentFloor = dropped.at(-1)?.version ?? this.#recentFloor;
    }
    if (reader.lsn > this.#lsn) this.#lsn = reader.lsn;
    this.#job?.extend(this.slotCount);
    this.linkInBackground();
  }

  /** Takes the vector of the record as the snapshot has it. */
  #put(rid: Rid, reader: EntryReader): void {
    const { property, dimensions } = this.settings;
    const record = reader.storedRecord(rid);
    const old = this.slotOf(rid);
    if (old >= 0) {
      this.#slots.delete(rid, this.rids);
      this.rids[old] = -1;
    }
    if (record === undefined || !readVector(record, property, this.#scratch, 0, dimensions)) return;
    const slot = this.slotCount;
    this.#reserve(slot + 1);
    this.space.put(slot, this.#scratch);
    this.rids[slot] = rid;
    this.#slots.add(rid, slot, this.rids);
    this.slotCount = slot + 1;
    if (this.#codes?.count === slot) this.#codes.add(this.#scratch);
  }

  /** Codes of all slots, as soon as they are made. */
  get codes(): CoarseCodes | undefined {
    return this.#codes?.count === this.slotCount ? this.#codes : undefined;
  }

  /** Searches through many full vectors become quicker, if there is room for codes beside them. */
  *makeCodes(meter: WorkMeter): PausingWork<void> {
    if (!this.space.isExact) return;
    if (this.#codes === undefined) {
      if (!this.#mayTake(CoarseCodes.bytesFor(this.slotCount, this.settings))) return;
      this.#codes = new CoarseCodes(this.settings);
    }
    const codes = this.#codes;
    const perLook = Math.ceil(codedPerLook / this.settings.dimensions);
    // Another search may make some in a pause.
    while (this.#codes === codes && codes.count < this.slotCount) {
      if (!this.#codeSome(codes, perLook)) this.#codes = undefined;
      else if (meter.isSpent(unitsPerCoded)) yield;
    }
  }

  /** A function of its own: loops of work that pauses are slower. @returns false: a vector is not there */
  #codeSome(codes: CoarseCodes, count: number): boolean {
    const end = Math.min(this.slotCount, codes.count + count);
    while (codes.count < end) {
      const vector = this.space.vectorAt(codes.count);
      if (vector === undefined) return false;
      codes.add(vector);
    }
    return true;
  }

  /** The graph takes in what it does not have yet, a little in each turn. */
  linkInBackground(): void {
    if (this.#isLinking || this.#slots.size < graphWorthMin || !this.#isLinkDue()) return;
    this.#isLinking = true;
    this.#background(
      () => this.#link(),
      () => {
        this.#isLinking = this.#job !== undefined;
      },
    );
  }

  /** Returns at once when a thread does it. */
  *#link(): Generator<undefined, void, undefined> {
    while (this.#isLinkDue() && this.#state === 'ready') {
      if (this.#isWorn()) this.#moveTogether();
      if (graphLinker.isUsable && this.slotCount - this.graph.count >= threadWorthMin) {
        this.#linkByThread();
        return;
      }
      for (let i = 0; i < linksPerTurn && this.graph.count < this.slotCount; i += 1)
        this.graph.linkNext();
      yield;
    }
  }

  #linkByThread(): void {
    const job = graphLinker.begin(this.#block.shared, this.settings, this.slotCount, () => {
      if (this.#job !== job) return;
      this.#job = undefined;
      this.#isLinking = false;
      if (this.#state === 'ready') this.linkInBackground();
    });
    this.#job = job;
  }

  /** Nobody links the block any more. */
  #stopLinking(): void {
    const job = this.#job;
    if (job === undefined) return;
    this.#job = undefined;
    this.#isLinking = false;
    job.stop();
  }

  #isLinkDue(): boolean {
    return this.graph.count < this.slotCount || this.#isWorn();
  }

  #isWorn(): boolean {
    const limit = this.settings.mutationsBeforeRebuild;
    const gone = this.slotCount - this.#slots.size;
    if (limit !== undefined && gone >= limit && gone > 0) return true;
    return gone > this.slotCount * goneShareMax && gone > graphWorthMin;
  }

  /** Moves the slots together and begins a new graph. */
  #moveTogether(): void {
    const old = this.#block;
    const { rids, slotCount } = this;
    const { size } = this.#slots;
    this.#slots.clear();
    this.#begin(size);
    this.#block.copyCommon(old);
    for (let slot = 0; slot < slotCount; slot += 1) {
      const rid = rids[slot] as number;
      if (rid < 0) continue;
      this.#block.copyVector(old, slot, this.slotCount);
      this.rids[this.slotCount] = rid;
      this.#slots.add(rid as Rid, this.slotCount, this.rids);
      this.slotCount += 1;
    }
  }

  /** A new block without vectors, with room for some. */
  #begin(count: number): void {
    this.#stopLinking();
    this.#codes = undefined;
    this.#block = new SlotBlock(this.#form);
    this.space = newSpace(this.#block, this.settings);
    this.graph = new VectorGraph(this.#block, this.space, graphOptions(this.settings));
    this.rids = new Float64Array(0);
    this.slotCount = 0;
    this.#reserve(Math.max(64, count));
  }

  stop(): void {
    this.#state = 'absent';
    this.#forgetAll();
  }

  /** COMPACT INDEX: what is gone takes no memory any more. */
  compact(): boolean {
    if (this.#state !== 'ready' || this.slotCount === this.#slots.size) return false;
    this.#moveTogether();
    this.linkInBackground();
    return true;
  }

  #reserve(count: number): void {
    if (this.rids.length >= count) return;
    const capacity = Math.ceil(count * roomShare) + 16;
    this.#block.grow(capacity);
    const rids = new Float64Array(capacity);
    rids.set(this.rids);
    this.rids = rids;
  }

  #forgetAll(): void {
    this.lives += 1;
    this.#slots.clear();
    this.#dirty = [];
    this.#begin(0);
  }
}
