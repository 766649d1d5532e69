import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { LanguageRegistry } from '#language/registry.ts';
import { ActiveStatements } from '../bounds/active-statements.ts';
import { FairTurns } from '../bounds/fair-turns.ts';
import { type ContainerMemory, ServerMemory } from '../bounds/memory-accounts.ts';
import type { ResultStream, RowForm, RowRenderer } from '../session.ts';
import {
  decodeParameters,
  type FromThread,
  rowMessagesMax,
  sentError,
  type StatementOrder,
  type ThreadStart,
  type ToThread,
} from './messages.ts';
import { ThreadDatabase } from './thread-database.ts';

/** Rows of a statement as bytes that can be taken away. */
export interface RowBuffer {
  readonly renderer: RowRenderer;
  /** What was written; it belongs to the caller. */
  take(): Uint8Array<ArrayBuffer>;
}

export interface ThreadParts {
  readonly start: ThreadStart;
  readonly runtime: Runtime;
  readonly languages: LanguageRegistry;
  readonly processMemory: Omit<ContainerMemory, 'limitBytes'>;
  /** The door's: what makes rows of a form. */
  readonly rowsOf: (form: RowForm, stream: ResultStream, formats: TemporalFormats) => RowBuffer;
  /** Memory of rows that nobody needs any more. */
  readonly spent: (memory: ArrayBuffer) => void;
  readonly send: (messages: readonly FromThread[], transferred: readonly ArrayBuffer[]) => void;
  /** The thread is to end. */
  readonly end: () => void;
}

/** Bytes of rows in one message. */
const messageBytes = 64 * 1024;
const wholeMessage = { bytes: messageBytes, rows: Number.POSITIVE_INFINITY };

/** One statement at work, and what it may send. */
class Running {
  readonly abort = new AbortController();
  #underWay = 0;
  #taken: (() => void) | undefined;

  get isAwaited(): boolean {
    return this.#underWay === 0;
  }

  sent(): void {
    this.#underWay += 1;
  }

  taken(): void {
    this.#underWay -= 1;
    this.#taken?.();
  }

  stop(): void {
    this.abort.abort();
    this.#taken?.();
  }

  /** Resolves when there is room for one more message, or for a long one, which goes alone, or nobody wants it. */
  async room(messagesMax = rowMessagesMax): Promise<void> {
    while (this.#underWay >= messagesMax && !this.abort.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#taken = resolve;
      });
    }
  }
}

/** Runs the statements that the main thread sends, in turns with each other. One database is open at a time. */
export class ThreadStatements {
  readonly #parts: ThreadParts;
  readonly #runtime: Runtime;
  readonly #memory: ServerMemory;
  readonly #active: ActiveStatements;
  readonly #running = new Map<number, Running>();
  #database: ThreadDatabase | undefined;
  /** Statements that are still to let go of the database. */
  #work: Promise<void> = Promise.resolve();
  #busy = new Set<Promise<void>>();

  constructor(parts: ThreadParts) {
    this.#parts = parts;
    this.#runtime = { ...parts.runtime, timers: new FairTurns(parts.runtime.timers) };
    this.#memory = threadMemory(parts);
    this.#active = new ActiveStatements(this.#runtime);
    parts.send([{ kind: 'ready' }], []);
  }

  take(message: ToThread): void {
    switch (message.kind) {
      case 'run': {
        // After a database that is being closed.
        const work = this.#work.then(() => this.#run(message.order));
        this.#busy.add(work);
        void work.finally(() => this.#busy.delete(work));
        break;
      }
      case 'taken':
        if (message.spent !== undefined) this.#parts.spent(message.spent);
        this.#running.get(message.id)?.taken();
        break;
      case 'stop':
        this.#running.get(message.id)?.stop();
        break;
      case 'leave':
        this.#work = this.#leave(message.key).then(() =>
          this.#parts.send([{ kind: 'left', key: message.key }], []),
        );
        break;
      case 'end':
        void this.#leave(this.#database?.facts.key).then(() => this.#parts.end());
        break;
    }
  }

  /** Ends what runs on the database, then lets go of it. */
  async #leave(key: number | undefined): Promise<void> {
    const database = this.#database;
    if (database === undefined || database.facts.key !== key) return;
    for (const running of this.#running.values()) running.stop();
    await Promise.allSettled(this.#busy);
    if (this.#database === database) this.#database = undefined;
    await database.close();
  }

  /** Never rejects. */
  async #run(order: StatementOrder): Promise<void> {
    const running = new Running();
    this.#running.set(order.id, running);
    try {
      await this.#open(order);
      await this.#runOn(order, running);
    } catch (error) {
      this.#parts.send([{ kind: 'failed', id: order.id, error: sentError(error) }], []);
    } finally {
      this.#running.delete(order.id);
    }
  }

  async #open({ database, limits }: StatementOrder): Promise<void> {
    if (this.#database?.facts.key === database.key) return;
    const old = this.#database;
    this.#database = undefined;
    // Nothing runs on it: the main thread sends no statement of another database before.
    await old?.close();
    const { languages, start } = this.#parts;
    this.#database ??= new ThreadDatabase(database, limits, {
      runtime: this.#runtime,
      languages,
      serverVersion: start.serverVersion,
      memory: this.#memory,
      active: this.#active,
    });
  }

  async #runOn(order: StatementOrder, running: Running): Promise<void> {
    const { id, form, limits, renderedMax } = order;
    const { clock } = this.#runtime;
    const beganMs = clock.monotonicMs();
    running.abort.signal.throwIfAborted();
    const stream = this.#begin(order, running);
    try {
      const buffer = this.#parts.rowsOf(form, stream, limits.formats);
      const rows = stream.rendered(buffer.renderer, renderedMax);
      let toldCount = 0;
      const message = (isLong: boolean): FromThread & { kind: 'rows' } => {
        const rowCount = rows.rowCount - toldCount;
        toldCount = rows.rowCount;
        const { pulledCount } = rows;
        return { kind: 'rows', id, bytes: buffer.take(), rowCount, pulledCount, isLong };
      };
      const send = (...messages: readonly FromThread[]): void => {
        const bytes = messages.flatMap((each) => (each.kind === 'rows' ? [each.bytes.buffer] : []));
        for (const _ of bytes) running.sent();
        this.#parts.send(messages, bytes);
      };
      try {
        for (;;) {
          const pause = rows.write(wholeMessage);
          if (pause === 'end') break;
          if (pause === 'long') {
            if (buffer.renderer.length > 0) send(message(false));
            await running.room(1);
            for (const _ of rows.longRow()) await this.#runtime.timers.yield();
            send(message(true));
          }
          if (buffer.renderer.length >= messageBytes || (pause === 'batch' && isHungry())) {
            send(message(false));
          }
          await running.room();
          if (pause === 'batch' && !(await rows.pull())) break;
        }
      } catch (error) {
        // What came before it is given first.
        if (buffer.renderer.length > 0 && rows.rowCount > toldCount) send(message(false));
        throw error;
      }
      const { pulledCount } = rows;
      const { index } = stream.summary();
      const tookMs = clock.monotonicMs() - beganMs;
      const ended: FromThread = { kind: 'ended', id, index, pulledCount, tookMs };
      if (buffer.renderer.length > 0) send(message(false), ended);
      else send(ended);

      function isHungry(): boolean {
        return running.isAwaited && buffer.renderer.length > 0;
      }
    } finally {
      stream.close();
    }
  }

  #begin(order: StatementOrder, running: Running): ResultStream {
    const { language, text, user, rowCountMax, limitedRowCountMax, readTimeoutMs } = order;
    const database = this.#database;
    if (database === undefined) throw new Error('the database is open while statements run on it');
    return database.run({
      statement: { language, text, parameters: decodeParameters(order.parameters) },
      options: {
        principal: { name: user, isRoot: true, via: 'peer' },
        mustBeIdempotent: true,
        signal: running.abort.signal,
        ...(rowCountMax !== undefined && { rowCountMax }),
        ...(limitedRowCountMax !== undefined && { limitedRowCountMax }),
        ...(readTimeoutMs !== undefined && { readTimeoutMs }),
      },
      limits: order.limits,
      snapshotAgeMsMax: order.snapshotAgeMsMax,
      planCountMax: order.planCountMax,
      startedMs: this.#runtime.clock.monotonicMs() - order.elapsedMs,
    });
  }
}

function threadMemory({ start, processMemory }: ThreadParts): ServerMemory {
  const { held, own, bytesMax, settingKey } = start.memory;
  const { containerLimitBytes, containerPercentMax, percentSettingKey } = start.memory;
  const container: ContainerMemory | undefined =
    containerLimitBytes === undefined
      ? undefined
      : { ...processMemory, limitBytes: containerLimitBytes };
  return new ServerMemory({
    bytesMax,
    settingKey,
    container,
    containerPercentMax,
    percentSettingKey,
    threads: { held: new Float64Array(held), own },
  });
}
