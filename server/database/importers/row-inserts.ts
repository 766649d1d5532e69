import { DatabaseError } from '#core/errors.ts';
import { type IntegerWidths, withWidths } from '#core/value/integer-width.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import { noRid, type Rid } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { patientWrite } from '../attempt/patient-write.ts';
import { takeOneWayEdges } from '../bulk/ends/one-way-type.ts';
import type { OperatedDatabase } from '../operations/operated-database.ts';

/** Rows of one type with the same properties. */
export interface InsertRows {
  readonly type: string;
  readonly kind: RecordKind;
  readonly columns: readonly string[];
  readonly widths: IntegerWidths | undefined;
  readonly values: readonly Value[];
  readonly rowCount: number;
  readonly from: readonly number[];
  readonly to: readonly number[];
  /** Edges that are entered at their source only. */
  readonly isOneWay: boolean;
}

const attemptsMax = 5;

/**
 * Inserts rows in one transaction; a row that may not be stored is left out.
 * @param pause gives others their turn while triggers run
 * @returns the record id of each row, `noRid` for those that were left out
 */
export async function insertRows(
  database: OperatedDatabase,
  rows: InsertRows,
  pause: () => Promise<void>,
): Promise<Float64Array> {
  if (rows.isOneWay) await takeOneWayEdges(database.state, rows.type);
  for (let attempt = 1; ; attempt += 1) {
    const transaction = database.state.begin('READ_COMMITTED');
    try {
      const rids = await insertAll(transaction, rows, pause);
      await transaction.commit();
      return rids;
    } catch (error) {
      transaction.rollback();
      const isConflict = error instanceof DatabaseError && error.code === 'ConcurrentModification';
      if (!isConflict || attempt >= attemptsMax) throw error;
    }
  }
}

async function insertAll(
  transaction: Transaction,
  rows: InsertRows,
  pause: () => Promise<void>,
): Promise<Float64Array> {
  const { type, kind, columns, widths, values, rowCount, from, to, isOneWay } = rows;
  const found = transaction.catalog.typeNamed(type);
  if (found === undefined)
    throw new DatabaseError('Schema', `Type with name '${type}' was not found`);
  const isWatched = transaction.catalog.definitions.hooks(found.id) !== undefined;
  const insertEdge = (out: Rid, target: Rid, properties: ValueMap): StoredRecord =>
    isOneWay && found.bidirectional
      ? transaction.insertOneWayEdge(found.id, out, target, properties)
      : transaction.insertEdge(found.id, out, target, properties);
  const rids = new Float64Array(rowCount).fill(noRid);
  for (let at = 0; at < rowCount; at += 1) {
    const given = new Map<string, Value>();
    for (let column = 0; column < columns.length; column += 1)
      given.set(columns[column] as string, values[at * columns.length + column] as Value);
    const properties = withWidths(given, widths);
    const place = transaction.savepoint();
    try {
      const insert = (): StoredRecord =>
        kind === 'edge'
          ? insertEdge(from[at] as Rid, to[at] as Rid, properties)
          : kind === 'vertex'
            ? transaction.insertVertex(found.id, properties)
            : transaction.insertDocument(found.id, properties);
      const record = isWatched ? await patientWrite(transaction, insert, pause) : insert();
      rids[at] = record.rid;
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      place.undo();
    } finally {
      place.release();
    }
  }
  return rids;
}
