import type { IndexId, LogIndex, Rid } from '#core/value/rid.ts';

/** What a kind keeps in memory about one index: told of each change before it becomes visible. */
export interface ChangeListener {
  /** The record was written or deleted by the log entry `version`. Told again when a commit is built again. */
  changed(version: LogIndex, rid: Rid): void;
  /** An entry comes (1) or goes (-1). */
  entry(version: LogIndex, key: Uint8Array, rid: Rid, sign: 1 | -1): void;
  /** Sums are to be made anew (REBUILD INDEX ... WITH statsOnly). */
  refresh?(): void;
  /** The index is gone: work beside searches ends. */
  stop?(): void;
  /** Bytes of memory outside of the heap. */
  readonly bytes?: number;
  /** What it holds now, for `schema:index:<name>`. */
  readonly facts?: Readonly<Record<string, number>>;
  /** Gives back what is gone. @returns false when that was nothing */
  compact?(): boolean;
}

/** Does work in turns of the event loop, beside everything else; `ended` is told when it is over, whatever became of it. */
export type BackgroundWork = (
  begin: () => Generator<undefined, void, undefined>,
  ended: () => void,
) => void;

/** Memory about one index. It is a cache: every search is right without it. */
export class IndexMemory {
  /** The newest log entry that changed the index, as far as was told since the start. */
  newest: LogIndex = 0 as LogIndex;
  /** False: nobody tells of changes, so nothing may be kept. */
  readonly isTold: boolean;
  #state: ChangeListener | undefined;
  /** Changes up to here were not told to the state. */
  #toldFrom: LogIndex = 0 as LogIndex;

  /** For what the kind does beside searches. */
  readonly background: BackgroundWork;

  readonly #mayTake: (bytes: number) => boolean;

  constructor(
    isTold: boolean,
    background: BackgroundWork = refuseWork,
    mayTake: (bytes: number) => boolean = () => true,
  ) {
    this.isTold = isTold;
    this.background = background;
    this.#mayTake = mayTake;
  }

  /** Whether so many bytes more are within the budget of the caches of vectors. */
  mayTake(bytes: number): boolean {
    return this.#mayTake(bytes);
  }

  /** What was made before; undefined when nothing was. */
  get known(): ChangeListener | undefined {
    return this.#state;
  }

  /** The state of the kind, made when it is first asked for. */
  state<State extends ChangeListener>(make: () => State): State {
    if (this.#state === undefined) {
      this.#state = make();
      this.#toldFrom = this.newest;
    }
    return this.#state as State;
  }

  /** Every change after this was told to the state. */
  get toldFrom(): LogIndex {
    return this.#toldFrom;
  }

  forget(): void {
    this.#state?.stop?.();
    this.#state = undefined;
  }

  changed(version: LogIndex, rid: Rid): void {
    if (version > this.newest) this.newest = version;
    this.#state?.changed(version, rid);
  }

  entry(version: LogIndex, key: Uint8Array, rid: Rid, sign: 1 | -1): void {
    this.#state?.entry(version, key, rid, sign);
  }
}

/** Memory about the search indexes of one database. */
export class SearchMemory {
  readonly #indexes = new Map<IndexId, IndexMemory>();
  readonly #isTold: boolean;
  #background: BackgroundWork = refuseWork;

  readonly #bytesMax: () => number;

  /**
   * @param isTold the maintainer of this database tells it of changes
   * @param bytesMax `vectorCacheMaxSize`
   */
  constructor(isTold: boolean, bytesMax: () => number = () => Infinity) {
    this.#isTold = isTold;
    this.#bytesMax = bytesMax;
  }

  /** What all indexes hold outside of the heap. */
  get bytes(): number {
    let sum = 0;
    for (const memory of this.#indexes.values()) sum += memory.known?.bytes ?? 0;
    return sum;
  }

  /** From now on kinds may work beside searches. */
  workWith(background: BackgroundWork): void {
    this.#background = background;
  }

  of(id: IndexId): IndexMemory {
    let memory = this.#indexes.get(id);
    if (memory === undefined) {
      memory = new IndexMemory(
        this.#isTold,
        (begin, ended) => this.#background(begin, ended),
        (bytes) => this.bytes + bytes <= this.#bytesMax(),
      );
      this.#indexes.set(id, memory);
    }
    return memory;
  }

  /** The schema has these indexes now. */
  retain(ids: ReadonlySet<IndexId>): void {
    for (const [id, memory] of this.#indexes) {
      if (ids.has(id)) continue;
      memory.forget();
      this.#indexes.delete(id);
    }
  }
}

/** Where there is no event loop to share nothing is done. */
function refuseWork(_: () => Generator<undefined, void, undefined>, ended: () => void): void {
  ended();
}
