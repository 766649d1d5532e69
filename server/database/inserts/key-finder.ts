import type { IndexDefinition, TypeDefinition } from '#catalog/catalog.ts';
import { coerceDeclared, storable } from '#catalog/coercion.ts';
import { type ValueKey, valuesKey } from '#core/value/equality.ts';
import type { IndexId, Rid, TypeId } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { RowFailure } from './tally.ts';

/** How the records of a type are found by the key columns. */
type Access =
  | { readonly index: IndexId; readonly order: readonly number[]; readonly isUnique: boolean }
  /** No index: the records that the chunk asks for, gathered by one scan. */
  | { readonly rids: Map<ValueKey, Rid>; readonly wanted: Set<ValueKey> };

interface Candidate {
  readonly type: TypeDefinition;
  readonly properties: ValueMap;
}

/** Finds records by the key columns of a load, uncommitted ones too: by an index over exactly these columns, or by a scan. */
export class KeyFinder {
  readonly #columns: readonly string[];
  readonly #formats: () => TemporalFormats;
  readonly #accesses = new Map<TypeId, Access>();

  constructor(columns: readonly string[], formats: () => TemporalFormats) {
    this.#columns = columns;
    this.#formats = formats;
  }

  /** Chooses the way for each type of a chunk. @param pause called often while records are read */
  async begin(
    candidates: Iterable<Candidate>,
    transaction: Transaction,
    pause: () => Promise<void>,
  ): Promise<void> {
    this.#accesses.clear();
    for (const { type, properties } of candidates) {
      let access = this.#accesses.get(type.id);
      if (access === undefined) {
        access = this.#accessTo(type, transaction);
        this.#accesses.set(type.id, access);
      }
      if ('index' in access) continue;
      try {
        access.wanted.add(valuesKey(this.keyOf(type, properties, transaction)));
      } catch {
        // Its row will say why it has no key.
      }
    }
    for (const [type, access] of this.#accesses) {
      if ('wanted' in access && access.wanted.size > 0) {
        await this.#scan(type, access, transaction, pause);
      }
    }
  }

  /** The key of a record, converted to declared types. @throws RowFailure `INVALID_KEY_COLUMN`, DatabaseError */
  keyOf(type: TypeDefinition, properties: ValueMap, { catalog }: Transaction): readonly Value[] {
    const context = { catalog, formats: this.#formats() };
    return this.#columns.map((column) => {
      const value = column.startsWith('@') ? undefined : properties.get(column);
      if (value === undefined || value === null) {
        const problem = value === null ? 'is null' : 'is missing';
        throw new RowFailure('INVALID_KEY_COLUMN', `key column '${column}' ${problem}`);
      }
      const property = catalog.property(type.id, column);
      return property === undefined
        ? storable(value, context)
        : coerceDeclared(property, value, context);
    });
  }

  /** The first record by record id that has the key. */
  find(type: TypeDefinition, key: readonly Value[], transaction: Transaction): Rid | undefined {
    const access = this.#accesses.get(type.id);
    if (access === undefined) return undefined;
    if ('rids' in access) return access.rids.get(valuesKey(key));
    const cursor = transaction
      .index(access.index)
      .lookup(access.order.map((at) => key[at] as Value));
    let first: Rid | undefined;
    while (cursor.next()) {
      const { rid } = cursor;
      if (first !== undefined && rid >= first) continue;
      if (access.isUnique || this.#isOfType(rid, type, transaction)) first = rid;
    }
    return first;
  }

  /** The record is known from now on. */
  inserted(type: TypeDefinition, key: readonly Value[], rid: Rid): void {
    const access = this.#accesses.get(type.id);
    if (access === undefined || 'index' in access) return;
    const text = valuesKey(key);
    if (!access.rids.has(text)) access.rids.set(text, rid);
  }

  #isOfType(rid: Rid, type: TypeDefinition, transaction: Transaction): boolean {
    const found = transaction.record(rid);
    return found !== undefined && transaction.catalog.isSubtype(found.type, type.id);
  }

  #accessTo(type: TypeDefinition, { catalog }: Transaction): Access {
    let best: IndexDefinition | undefined;
    for (const index of catalog.indexesOn(type.id)) {
      const fits = isOrdered(index) && coversExactly(index, this.#columns);
      if (fits && (best === undefined || index.unique)) best = index;
    }
    if (best === undefined) return { rids: new Map(), wanted: new Set() };
    const order = best.components.map(({ property }) => this.#columns.indexOf(property));
    return { index: best.id, order, isUnique: best.unique };
  }

  async #scan(
    type: TypeId,
    access: { readonly rids: Map<ValueKey, Rid>; readonly wanted: Set<ValueKey> },
    transaction: Transaction,
    pause: () => Promise<void>,
  ): Promise<void> {
    const columns = this.#columns;
    const values: Value[] = columns.map(() => null);
    let count = 0;
    for (const one of transaction.catalog.withSubtypes(type)) {
      for (const bucket of transaction.catalog.typeWithId(one).buckets) {
        const cursor = transaction.scan(bucket, 'ascending');
        for (let record = cursor.next(); record !== undefined; record = cursor.next()) {
          for (let at = 0; at < columns.length; at++) {
            values[at] = record.get(columns[at] as string) ?? null;
          }
          const key = valuesKey(values);
          const known = access.wanted.has(key) ? access.rids.get(key) : noneWanted;
          if (known === undefined || known > record.rid) access.rids.set(key, record.rid);
          count += 1;
          if (count % 512 === 0) await pause();
        }
      }
    }
  }
}

/** Below every record id. */
const noneWanted = -2 as Rid;

function isOrdered(index: IndexDefinition): boolean {
  return index.state === 'READY' && (index.kind === 'LSM_TREE' || index.kind === 'HASH');
}

function coversExactly(index: IndexDefinition, columns: readonly string[]): boolean {
  if (index.components.length !== columns.length) return false;
  return index.components.every(
    ({ property, by, caseInsensitive }) =>
      by === 'value' && (!caseInsensitive || index.unique) && columns.includes(property),
  );
}
