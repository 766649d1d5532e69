import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ChangeObserver } from '#transaction/commit/change-observer.ts';
import type { RecordChange } from '#transaction/transaction.ts';

export type ChangeKind = RecordChange['kind'];

/** Changes of one kind to records of one type. */
export interface LostChanges {
  readonly kind: ChangeKind;
  readonly typeName: string;
  readonly count: number;
}

/** Who gets the change events of a database. Must not throw. */
export interface ChangeSubscriber {
  /** Whether events of this kind and type are to be kept for it. Asked for each change of a commit. */
  wants(kind: ChangeKind, typeName: string): boolean;
  /** Keeps the event until `pass`: called for one after the other. */
  changed(change: RecordChange): void;
  /** Stands in the place of events that did not fit into the queue. Kept as `changed` is. */
  lost(loss: LostChanges): void;
  /** Passes on what was kept. More come when it has resolved: those of the meantime are passed on together. */
  pass(): Promise<void>;
  /** The database was closed or dropped; nothing more comes of this subscription. */
  ended(): void;
}

/** Change events of one database, as doors see them. */
export interface ChangeEvents {
  /** @returns ends the subscription */
  subscribe(subscriber: ChangeSubscriber): () => void;
}

/** Committed changes that are made one by one when they are delivered, since there may be many. */
export interface ChangeSource {
  readonly length: number;
  /** The next one; undefined for one that cannot be told. */
  next(): RecordChange | undefined;
  /** Called once, at the end. */
  close(): void;
}

/** Stands in the queue where events would stand that did not fit. */
interface Loss {
  readonly lost: Map<string, LostChanges>;
}

export interface ChangeQueueOptions {
  readonly databaseName: string;
  /** `service.server.eventBusQueueSize` */
  readonly sizeMax: () => number;
  readonly runtime: Runtime;
  readonly log: Log;
}

const sliceMs = 5;
const warningPauseMs = 10_000;
const longPassMs = 2;
/** Times of a long pass until the next one. */
const pausePerPass = 4;
const passPauseMsMax = 50;

/**
 * The committed changes of one database on their way to subscribers, in commit order (websocket.md 1.4, house decision 56).
 * Commits only leave them here and never wait. Events that nobody asked for are left out at once. The others of a commit are taken
 * whole as long as fewer than `eventBusQueueSize` events wait, so that one large transaction is not cut in the middle; else they
 * are dropped whole with a warning, and their number stands in their place (house decision 83). While nobody subscribes nothing is
 * kept or computed.
 */
export class ChangeQueue implements ChangeObserver, ChangeEvents {
  readonly #subscribers = new Set<ChangeSubscriber>();
  readonly #options: ChangeQueueOptions;
  #waiting: (ChangeSource | Loss)[] = [];
  #current: ChangeSource | undefined;
  #waitingCount = 0;
  #isDelivering = false;
  #droppedCount = 0;
  #nextWarningMs = 0;

  constructor(options: ChangeQueueOptions) {
    this.#options = options;
  }

  get isWatched(): boolean {
    return this.#subscribers.size > 0;
  }

  subscribe(subscriber: ChangeSubscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => {
      this.#subscribers.delete(subscriber);
      if (this.#subscribers.size === 0) this.#forget();
    };
  }

  /** Whether anybody asked for events of this kind and type. */
  wants(kind: ChangeKind, typeName: string): boolean {
    for (const subscriber of this.#subscribers) if (subscriber.wants(kind, typeName)) return true;
    return false;
  }

  committed(changes: readonly RecordChange[]): void {
    const wanted = changes.filter(({ kind, record }) => this.wants(kind, record.typeName));
    if (wanted.length === 0) return;
    const counts = wanted.map(({ kind, record: { typeName } }) => ({ kind, typeName, count: 1 }));
    if (!this.hasRoomFor(counts)) return;
    let at = 0;
    this.offer({ length: wanted.length, next: () => wanted[at++], close: () => {} });
  }

  /** Whether `offer` may be called for the wanted changes of one commit; else they are counted as lost. */
  hasRoomFor(changes: readonly LostChanges[]): boolean {
    if (!this.isWatched) return false;
    if (this.#waitingCount < this.#options.sizeMax()) return true;
    this.#lose(changes);
    return false;
  }

  offer(changes: ChangeSource): void {
    this.#waiting.push(changes);
    this.#waitingCount += changes.length;
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    void this.#deliver();
  }

  /** Ends all subscriptions. */
  close(): void {
    const subscribers = [...this.#subscribers];
    this.#subscribers.clear();
    this.#forget();
    for (const subscriber of subscribers) subscriber.ended();
  }

  #forget(): void {
    const sources = this.#waiting;
    this.#waiting = [];
    this.#waitingCount = 0;
    this.#closeCurrent();
    for (const source of sources) if (!('lost' in source)) source.close();
  }

  #closeCurrent(): void {
    this.#current?.close();
    this.#current = undefined;
  }

  /** Begins in a later turn: the writer is answered first. */
  async #deliver(): Promise<void> {
    const { clock, timers } = this.#options.runtime;
    await timers.yield();
    let untilMs = clock.monotonicMs() + sliceMs;
    for (let changes = this.#waiting.shift(); changes; changes = this.#waiting.shift()) {
      if ('lost' in changes) {
        this.#tellLost(changes);
        if (this.#waiting.length === 0) await this.#pass();
        continue;
      }
      this.#current = changes;
      // Closed meanwhile when the last subscriber left.
      for (let at = 0; at < changes.length && this.#current === changes; at++) {
        this.#tell(changes);
        this.#waitingCount = Math.max(0, this.#waitingCount - 1);
        if (clock.monotonicMs() < untilMs) continue;
        await this.#pass();
        untilMs = clock.monotonicMs() + sliceMs;
      }
      if (this.#current === changes) this.#closeCurrent();
      // The next ones may come while these are passed on.
      if (this.#waiting.length > 0) continue;
      await this.#pass();
      untilMs = clock.monotonicMs() + sliceMs;
    }
    this.#isDelivering = false;
  }

  /**
   * A pass that takes long, since there are many subscribers, is followed by a pause several times as long: most of the time is
   * for others, and what comes meanwhile leaves together, in one write a connection.
   */
  async #pass(): Promise<void> {
    const { clock, timers } = this.#options.runtime;
    const startMs = clock.monotonicMs();
    for (const subscriber of this.#subscribers) await subscriber.pass();
    const tookMs = clock.monotonicMs() - startMs;
    if (tookMs < longPassMs) await timers.yield();
    else await timers.sleep(Math.min(pausePerPass * tookMs, passPauseMsMax));
  }

  /** Nobody waits for an event, so one that cannot be told (a damaged record) is left out. */
  #tell(changes: ChangeSource): void {
    try {
      const change = changes.next();
      if (change === undefined) return;
      for (const subscriber of this.#subscribers) subscriber.changed(change);
    } catch (error) {
      const { log, databaseName } = this.#options;
      log.error('a change event could not be told', {
        database: databaseName,
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }

  #tellLost({ lost }: Loss): void {
    for (const loss of lost.values())
      for (const subscriber of this.#subscribers) subscriber.lost(loss);
  }

  #lose(changes: readonly LostChanges[]): void {
    const last = this.#waiting.at(-1);
    const loss: Loss = last !== undefined && 'lost' in last ? last : { lost: new Map() };
    if (loss !== last) this.#waiting.push(loss);
    for (const { kind, typeName, count } of changes) {
      const key = `${kind} ${typeName}`;
      const before = loss.lost.get(key)?.count ?? 0;
      loss.lost.set(key, { kind, typeName, count: before + count });
      this.#droppedCount += count;
    }
    this.#warn();
  }

  #warn(): void {
    const { runtime, log, databaseName } = this.#options;
    const now = runtime.clock.monotonicMs();
    if (now < this.#nextWarningMs) return;
    this.#nextWarningMs = now + warningPauseMs;
    log.warn('change events dropped, server.eventBusQueueSize is reached', {
      database: databaseName,
      dropped: this.#droppedCount,
    });
    this.#droppedCount = 0;
  }
}
