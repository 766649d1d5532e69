import type { TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import { withWidths } from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { type LogIndex, noRid, type Rid } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { MetaValue } from '#transaction/database-state.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import { patientWrite } from '../attempt/patient-write.ts';
import type { Table } from './batch-rows.ts';

/** How many rows triggers have kept from being written. */
export interface VetoedRows {
  readonly records: number;
  readonly edges: number;
}

/**
 * One chunk of a load while the schema has triggers on CREATE: a transaction, so that they fire as for any other insert and what
 * they write is committed with the chunk. Slower by far than whole blocks, and bounded by the same chunk size.
 */
export class TriggeredLoad {
  readonly vetoed = { records: 0, edges: 0 };
  /** Row of the batch that is being written. */
  row = -1;
  readonly #begin: () => Transaction;
  readonly #pause: () => Promise<void>;
  #transaction: Transaction | undefined;

  /** @param pause gives others their turn when it is time to */
  constructor(begin: () => Transaction, pause: () => Promise<void>) {
    this.#begin = begin;
    this.#pause = pause;
  }

  get pendingBytes(): number {
    return this.#transaction?.heldBytes ?? 0;
  }

  /** @param place told the id of each row; `noRid` for a vetoed one */
  async addRecords(
    type: TypeDefinition,
    table: Table,
    place: (at: number, rid: Rid) => void,
  ): Promise<void> {
    const transaction = this.#open();
    for (let at = 0; at < table.rowCount; at += 1) {
      this.row = at;
      const properties = propertiesAt(table, at);
      const insert = (): StoredRecord =>
        type.kind === 'vertex'
          ? transaction.insertVertex(type.id, properties)
          : transaction.insertDocument(type.id, properties);
      const record = await patientWrite(transaction, insert, this.#pause);
      if (record === vetoed) this.vetoed.records += 1;
      place(at, record.rid);
      if (at % rowsPerLook === 0) await this.#pause();
    }
    this.row = -1;
  }

  async addEdges(
    type: TypeDefinition,
    table: Table,
    ends: { readonly from: Float64Array; readonly to: Float64Array; readonly both: boolean },
    place: (at: number, rid: Rid) => void,
  ): Promise<void> {
    const transaction = this.#open();
    for (let at = 0; at < table.rowCount; at += 1) {
      this.row = at;
      const [from, to] = [ends.from[at] as Rid, ends.to[at] as Rid];
      if (from === noRid || to === noRid)
        throw new DatabaseError(
          'RecordNotFound',
          'an end of an edge was not written, since a trigger vetoed it',
        );
      const properties = propertiesAt(table, at);
      const insert = (): StoredRecord =>
        ends.both
          ? transaction.insertEdge(type.id, from, to, properties)
          : transaction.insertOneWayEdge(type.id, from, to, properties);
      const edge = await patientWrite(transaction, insert, this.#pause);
      if (edge === vetoed) this.vetoed.edges += 1;
      place(at, edge.rid);
      if (at % rowsPerLook === 0) await this.#pause();
    }
    this.row = -1;
  }

  /**
   * @param values of `meta` that the commit carries
   * @returns undefined when there was nothing to commit
   */
  async commit(values: readonly MetaValue[]): Promise<LogIndex | undefined> {
    const transaction = this.#transaction;
    this.#transaction = undefined;
    if (transaction === undefined || !transaction.hasWrites) {
      transaction?.rollback();
      return undefined;
    }
    try {
      for (const { name, value } of values) transaction.attach(name, value);
      const { index } = await transaction.commit();
      return index;
    } finally {
      transaction.rollback();
    }
  }

  /** Gives up what was not committed. */
  close(): void {
    this.#transaction?.rollback();
    this.#transaction = undefined;
  }

  #open(): Transaction {
    if (this.#transaction === undefined) {
      this.#transaction = this.#begin();
      this.#transaction.beginStatement();
    }
    return this.#transaction;
  }
}

const rowsPerLook = 16;

function propertiesAt({ columns, values, widths }: Table, row: number): ValueMap {
  const properties = new Map<string, Value>();
  const start = row * columns.length;
  for (let at = 0; at < columns.length; at += 1) {
    const value = values[start + at];
    if (value !== undefined) properties.set(columns[at] as string, value);
  }
  return widths === undefined ? properties : withWidths(properties, widths);
}
