import type { TypeDefinition } from '#catalog/catalog.ts';
import type { Effect } from '#core/effects.ts';
import type { Authorizer } from '#core/principal.ts';
import { valuesOf, withWidths } from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { formatRid, noRid, parseRid, type Rid } from '#core/value/rid.ts';
import { textOf } from '#core/text/text-form.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import { patientWrite } from '../attempt/patient-write.ts';
import type { InsertOptions } from './insert-port.ts';
import { KeyFinder } from './key-finder.ts';
import { RowFailure, type RowResult } from './tally.ts';

export interface RowWriterOptions extends InsertOptions {
  readonly databaseName: string;
  readonly authorizer: Authorizer;
  readonly formats: () => TemporalFormats;
}

const insertOnly: ReadonlySet<Effect> = new Set<Effect>(['insert']);
const insertAndUpdate: ReadonlySet<Effect> = new Set<Effect>(['insert', 'update']);
const kindWords = new Set(['v', 'vertex', 'e', 'edge', 'd', 'document']);

/** One record of a chunk, taken apart. */
interface Row {
  readonly type: TypeDefinition;
  readonly properties: ValueMap;
  readonly from: Rid;
  readonly to: Rid;
}

/** Writes the records of chunks into transactions (websocket.md 4.2, 4.5). Rights are asked for once per chunk and type. */
export class RowWriter {
  readonly #options: RowWriterOptions;
  readonly #allowed = new Set<string>();
  readonly #keys: KeyFinder;

  constructor(options: RowWriterOptions) {
    this.#options = options;
    this.#keys = new KeyFinder(options.keyColumns, options.formats);
  }

  /** To be called before the records of a chunk are written in a transaction. */
  async begin(
    records: readonly Value[],
    transaction: Transaction,
    pause: () => Promise<void>,
  ): Promise<void> {
    this.#allowed.clear();
    if (this.#options.keyColumns.length === 0) return;
    await this.#keys.begin(this.#candidates(records, transaction), transaction, pause);
  }

  /**
   * Writes one record or leaves the transaction as it was. A record that a trigger keeps from being written is `ignored`. A promise
   * only for records of types with triggers.
   * @param pause gives others their turn while triggers run
   * @throws RowFailure or DatabaseError
   */
  write(
    record: Value,
    transaction: Transaction,
    pause: () => Promise<void>,
  ): RowResult | Promise<RowResult> {
    const row = this.#taken(record, transaction);
    if (transaction.catalog.definitions.hooks(row.type.id) === undefined)
      return this.#write(row, transaction);
    return this.#writeWatched(row, transaction, pause);
  }

  async #writeWatched(
    row: Row,
    transaction: Transaction,
    pause: () => Promise<void>,
  ): Promise<RowResult> {
    // Triggers may have written when a later step fails.
    const place = transaction.savepoint();
    try {
      const { key, found } = this.#sought(row, transaction);
      if (found === undefined) {
        const insert = (): StoredRecord => this.#insert(row, transaction);
        const made = await patientWrite(transaction, insert, pause);
        return this.#tellInserted(row, key, made);
      }
      if (this.#keeps(row, key, found)) return 'ignored';
      await patientWrite(transaction, () => this.#merge(found, row, transaction), pause);
      return 'updated';
    } catch (error) {
      place.undo();
      throw error;
    } finally {
      place.release();
    }
  }

  #write(row: Row, transaction: Transaction): RowResult {
    const { key, found } = this.#sought(row, transaction);
    if (found === undefined) return this.#tellInserted(row, key, this.#insert(row, transaction));
    if (this.#keeps(row, key, found)) return 'ignored';
    this.#merge(found, row, transaction);
    return 'updated';
  }

  /** The key of the record, and who has it; neither when nothing is asked of keys. */
  #sought(
    row: Row,
    transaction: Transaction,
  ): { readonly key: readonly Value[] | undefined; readonly found: Rid | undefined } {
    if (this.#options.keyColumns.length === 0) return { key: undefined, found: undefined };
    const key = this.#keys.keyOf(row.type, row.properties, transaction);
    return { key, found: this.#keys.find(row.type, key, transaction) };
  }

  /**
   * Whether the record that has the key stays as it is.
   * @throws RowFailure when that is an error
   */
  #keeps({ type }: Row, key: readonly Value[] | undefined, found: Rid): boolean {
    const { keyColumns, conflictMode } = this.#options;
    if (conflictMode !== 'error') return conflictMode === 'ignore';
    const formats = this.#options.formats();
    const shown = (key ?? []).map((value) => textOf(value, formats).slice(0, 200));
    throw keyIsTaken(type, keyColumns, shown, found);
  }

  #tellInserted(row: Row, key: readonly Value[] | undefined, made: StoredRecord): RowResult {
    if (made === vetoed) return 'ignored';
    if (key !== undefined) this.#keys.inserted(row.type, key, made.rid);
    return 'inserted';
  }

  #taken(record: Value, transaction: Transaction): Row {
    if (!isMap(record)) throw new RowFailure('DB_ERROR', 'the record is not a JSON object');
    const given = this.#options.decode(record);
    const type = this.#typeOf(given, transaction);
    const { name, kind } = type;
    this.#authorize(name);
    const isEdge = kind === 'edge';
    const properties = new Map<string, Value>();
    for (const [property, value] of given) {
      const isEnd = isEdge && (property === 'out' || property === 'in');
      if (!property.startsWith('@') && !isEnd) properties.set(property, value);
    }
    if (!isEdge) return { type, properties, from: noRid, to: noRid };
    const from = end(given, ['@from', 'out'], transaction);
    return { type, properties, from, to: end(given, ['@to', 'in'], transaction) };
  }

  #typeOf(record: ValueMap, transaction: Transaction): TypeDefinition {
    const name = this.#typeName(record);
    if (name === undefined) {
      throw new RowFailure(
        'DB_ERROR',
        "the record has no '@class' and the session no 'targetType'",
      );
    }
    const type = transaction.catalog.typeNamed(name);
    if (type === undefined) {
      const message = `Type with name '${name.slice(0, 200)}' was not found`;
      throw new RowFailure('DB_ERROR', message, 'SchemaException');
    }
    return type;
  }

  #typeName(record: ValueMap): string | undefined {
    const { targetType } = this.#options;
    const given = record.get('@class');
    if (typeof given === 'string' && given !== '') return given;
    if (given !== undefined && given !== null) {
      throw new RowFailure('DB_ERROR', "'@class' must be the name of a type");
    }
    const alias = record.get('@type');
    if (typeof alias !== 'string' || kindWords.has(alias.toLowerCase())) return targetType;
    return alias;
  }

  #authorize(type: string): void {
    if (this.#allowed.has(type)) return;
    const { principal, authorizer, databaseName, conflictMode } = this.#options;
    const effects = conflictMode === 'update' ? insertAndUpdate : insertOnly;
    authorizer.require(principal, databaseName, { effects, types: [type] });
    this.#allowed.add(type);
  }

  #insert({ type, properties, from, to }: Row, transaction: Transaction): StoredRecord {
    switch (type.kind) {
      case 'document':
        return transaction.insertDocument(type.id, properties);
      case 'vertex':
        return transaction.insertVertex(type.id, properties);
      case 'edge':
        return transaction.insertEdge(type.id, from, to, properties);
    }
  }

  /** Null never overwrites, keys and ends of edges stay. */
  #merge(rid: Rid, { properties }: Row, transaction: Transaction): void {
    const current = transaction.record(rid);
    if (current === undefined) return;
    this.#authorize(current.typeName);
    const merged = valuesOf(current);
    const widths = new Map(current.integerWidths);
    let isChanged = false;
    for (const [name, value] of properties) {
      if (value === null || !this.#mayOverwrite(name)) continue;
      merged.set(name, value);
      widths.delete(name);
      isChanged = true;
    }
    if (isChanged) transaction.update(rid, withWidths(merged, widths));
  }

  #mayOverwrite(name: string): boolean {
    const { keyColumns, updateColumns } = this.#options;
    if (keyColumns.includes(name)) return false;
    return updateColumns === undefined || updateColumns.includes(name);
  }

  /** The records that can be looked up at all; the others fail later, with a reason. */
  *#candidates(
    records: readonly Value[],
    transaction: Transaction,
  ): Generator<{ readonly type: TypeDefinition; readonly properties: ValueMap }> {
    for (const record of records) {
      if (!isMap(record)) continue;
      let name: string | undefined;
      try {
        name = this.#typeName(record);
      } catch {
        continue;
      }
      const type = name === undefined ? undefined : transaction.catalog.typeNamed(name);
      if (type !== undefined) yield { type, properties: record };
    }
  }
}

function end(record: ValueMap, names: readonly [string, string], transaction: Transaction): Rid {
  const value = record.get(names[0]) ?? record.get(names[1]);
  if (value === undefined || value === null) {
    throw new RowFailure('MISSING_ENDPOINTS', `an edge needs '${names[0]}', or '${names[1]}'`);
  }
  const rid = typeof value === 'string' ? parseRid(value) : undefined;
  if (rid === undefined) {
    const shown = typeof value === 'string' ? `'${value.slice(0, 100)}'` : 'its value';
    throw new RowFailure('MISSING_ENDPOINTS', `'${names[0]}': ${shown} is not a record id`);
  }
  if (transaction.record(rid)?.kind !== 'vertex') {
    const shown = rid === noRid ? String(value) : formatRid(rid);
    throw new RowFailure(
      'MISSING_ENDPOINTS',
      `'${names[0]}': there is no vertex ${shown}`,
      'RecordNotFoundException',
    );
  }
  return rid;
}

/** In the words of a unique index. */
function keyIsTaken(
  type: TypeDefinition,
  columns: readonly string[],
  shown: readonly string[],
  holder: Rid,
): RowFailure {
  const where = `${type.name}[${columns.join(',')}]`;
  const message = `Duplicated key [${shown.join(', ')}] found on '${where}' already assigned to record ${formatRid(holder)}`;
  return new RowFailure('CONFLICT', message, 'DuplicatedKeyException');
}
