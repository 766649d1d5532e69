import type { ViewDefinition } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import { type BucketId, noRid, type Rid } from '#core/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import { EmbeddedDocument, isMap, isRecord, type Value } from '#core/value.ts';
import type { ReadView } from '#transaction/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import type { CompiledStatement } from '../compiled-statement.ts';
import { type ServerMemory, StatementMemory } from '../memory-accounts.ts';
import { PlanExecution } from '../plan-execution.ts';
import type { StatementLimits } from '../statement-limits.ts';

export interface RefreshServices {
  readonly compile: (query: string, view: ReadView) => CompiledStatement;
  readonly begin: () => Transaction;
  /** The newest committed state. */
  readonly view: () => ReadView;
  readonly limits: () => StatementLimits;
  readonly memory: ServerMemory;
  readonly runtime: Runtime;
}

const rowsPerLook = 256;

/**
 * Makes the records of a view the rows of its query, in their order, in one transaction: the i-th record becomes the i-th row, so
 * that rows that stayed the same are not written. Runs in slices beside statements.
 *
 * @param check throws when the refresh is to end
 * @throws DatabaseError what the query or the writes raise; the rows are then what they were
 */
export async function refreshView(
  view: ViewDefinition,
  services: RefreshServices,
  check: () => void,
): Promise<void> {
  try {
    await new ViewWriter(view, services, check).run(false);
  } catch (error) {
    // Rows that change places may hold a unique key twice for a moment.
    if (!(error instanceof DatabaseError) || error.code !== 'DuplicatedKey') throw error;
    await new ViewWriter(view, services, check).run(true);
  }
}

/** Under what the time of the newest refresh that wrote rows is stored: types are never given the same id again. */
export function refreshTimeName(view: ViewDefinition): string {
  return `view-refresh:${view.type}`;
}

class ViewWriter {
  readonly #view: ViewDefinition;
  readonly #services: RefreshServices;
  readonly #check: () => void;

  constructor(view: ViewDefinition, services: RefreshServices, check: () => void) {
    this.#view = view;
    this.#services = services;
    this.#check = check;
  }

  async run(isFromScratch: boolean): Promise<void> {
    const { begin, memory: server, limits } = this.#services;
    const transaction = begin();
    const memory = new StatementMemory(server, limits().memoryBytesMax);
    try {
      transaction.beginStatement();
      const old = await this.#recordsOf(transaction);
      if (isFromScratch) {
        await this.#delete(transaction, old, 0);
        await this.#write(transaction, noRecords, memory);
      } else {
        const count = await this.#write(transaction, old, memory);
        await this.#delete(transaction, old, count);
      }
      transaction.attach(refreshTimeName(this.#view), this.#now());
      await transaction.commit();
    } finally {
      transaction.rollback();
      memory.close();
    }
  }

  #now(): Uint8Array {
    return new TextEncoder().encode(String(this.#services.runtime.clock.now()));
  }

  async #recordsOf(transaction: Transaction): Promise<Float64Array> {
    const { buckets } = transaction.catalog.typeWithId(this.#view.type);
    let rids = new Float64Array(1024);
    let count = 0;
    for (const bucket of buckets as readonly BucketId[]) {
      const cursor = transaction.scan(bucket, 'ascending');
      for (let record = cursor.next(); record !== undefined; record = cursor.next()) {
        if (count === rids.length) {
          const grown = new Float64Array(count * 2);
          grown.set(rids);
          rids = grown;
        }
        rids[count] = record.rid;
        count += 1;
        if (count % rowsPerLook === 0) await this.#pause();
      }
    }
    return rids.subarray(0, count);
  }

  /** @returns how many rows there are */
  async #write(
    transaction: Transaction,
    old: Float64Array,
    memory: StatementMemory,
  ): Promise<number> {
    const { compile, limits, runtime } = this.#services;
    using source = this.#services.view();
    const compiled = compile(this.#view.query, source);
    const instance = compiled.take();
    const { root, context } = instance;
    context.enter({
      view: source,
      transaction: undefined,
      parameters: new Map(),
      limits: limits(),
      memory,
      deadlineMs: Number.POSITIVE_INFINITY,
      rowCap: undefined,
    });
    const execution = new PlanExecution({
      root,
      context,
      outputSlots: compiled.outputSlots,
      timers: runtime.timers,
      watch: { startedMs: runtime.clock.monotonicMs(), check: this.#check },
      rowCountMax: Number.POSITIVE_INFINITY,
    });
    const names = compiled.shape.kind === 'columns' ? compiled.shape.names : undefined;
    const width = compiled.outputSlots.length;
    let count = 0;
    try {
      for (;;) {
        const batch = await execution.nextBatch();
        if (batch === undefined) break;
        for (let row = 0; row < batch.rowCount; row += 1) {
          const properties = propertiesOfRow(names, batch.values, row * width);
          const rid = (old[count] ?? noRid) as Rid;
          if (rid === noRid) transaction.insertDocument(this.#view.type, properties);
          else transaction.update(rid, properties);
          count += 1;
        }
        memory.holdWrites(transaction.heldBytes);
        await this.#pause();
      }
    } finally {
      execution.close();
      compiled.give(instance);
    }
    return count;
  }

  async #delete(transaction: Transaction, old: Float64Array, from: number): Promise<void> {
    for (let at = from; at < old.length; at += 1) {
      transaction.delete(old[at] as Rid);
      if (at % rowsPerLook === 0) await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    await this.#services.runtime.timers.yield();
    this.#check();
  }
}

const noRecords = new Float64Array(0);

/** A row as INSERT ... FROM SELECT would copy it: names that start with '@' are left out. */
function propertiesOfRow(
  names: readonly string[] | undefined,
  values: readonly Value[],
  start: number,
): Map<string, Value> {
  const properties = new Map<string, Value>();
  if (names !== undefined) {
    for (let at = 0; at < names.length; at += 1)
      set(properties, names[at] as string, values[start + at] ?? null);
    return properties;
  }
  const row = values[start] ?? null;
  if (isRecord(row)) {
    for (const name of row.propertyNames()) set(properties, name, row.get(name) ?? null);
  } else if (isMap(row)) for (const [name, value] of row) set(properties, name, value);
  else if (row instanceof EmbeddedDocument)
    for (const [name, value] of row.properties) set(properties, name, value);
  else properties.set('value', row);
  return properties;
}

function set(properties: Map<string, Value>, name: string, value: Value): void {
  if (!name.startsWith('@')) properties.set(name, value);
}
