import type { TypeDefinition } from '#catalog/catalog.ts';
import { coerceDeclared } from '#catalog/coercion.ts';
import { DatabaseError } from '#core/errors.ts';
import { isSchemaType, type SchemaTypeName, schemaTypeOf } from '#core/value/conversion.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import { noRid, type Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { RecordDraft } from '#query/operators/write/record-draft.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { patientWrite } from '../attempt/patient-write.ts';
import { takeOneWayEdges } from '../bulk/ends/one-way-type.ts';
import type { ImportJob } from './import-job.ts';
import {
  isMany,
  type MappedEdge,
  type MappedId,
  type MappedRecord,
  recordsOf,
} from './mapped-record.ts';
import { declareId } from './vertex-ids.ts';

const attemptsMax = 5;

/** What a transaction has made so far. */
interface Tally {
  document: number;
  vertex: number;
  edge: number;
  errors: number;
}

/** Puts mapped records into the database: types and unique ids that are missing are made, records found by their ids. */
export class MappedRecords {
  readonly #job: ImportJob;
  /** Types whose schema was seen to. */
  readonly #known = new Set<string>();

  constructor(job: ImportJob) {
    this.#job = job;
  }

  /** One transaction. @throws DatabaseError for a record that may not be stored, unless such ones are left out */
  async store(records: readonly MappedRecord[]): Promise<void> {
    const { database, sink } = this.#job;
    for (const record of records) await this.#declare(record);
    for (let attempt = 1; ; attempt += 1) {
      const transaction = database.state.begin('READ_COMMITTED');
      const tally: Tally = { document: 0, vertex: 0, edge: 0, errors: 0 };
      try {
        for (const record of records) await this.#storeOrSkip(transaction, record, tally);
        await transaction.commit();
        sink.counts.parsedRecords += records.length;
        sink.counts.createdDocuments += tally.document;
        sink.counts.createdVertices += tally.vertex;
        sink.counts.createdEdges += tally.edge;
        sink.counts.errors += tally.errors;
        return;
      } catch (error) {
        transaction.rollback();
        const isConflict =
          error instanceof DatabaseError && error.code === 'ConcurrentModification';
        if (!isConflict || attempt >= attemptsMax) throw error;
      }
    }
  }

  async #declare(record: MappedRecord): Promise<void> {
    const { sink, database, settings } = this.#job;
    for (const { kind, type, id, edges } of recordsOf(record)) {
      const key = `${kind}\n${type}\n${id?.name ?? ''}`;
      if (!this.#known.has(key)) {
        await sink.requireType(kind, type);
        if (id !== undefined && !this.#isDeclared(type, id))
          await declareId(database, { type, property: id.name, dataType: dataTypeOf(id) });
        this.#known.add(key);
      }
      for (const edge of edges) {
        if (this.#known.has(edge.type)) continue;
        await sink.requireType('edge', edge.type);
        if (!settings.edgeBidirectional) await takeOneWayEdges(database.state, edge.type);
        this.#known.add(edge.type);
      }
    }
  }

  #isDeclared(type: string, id: MappedId): boolean {
    const { catalog } = this.#job.database.state;
    const found = catalog.typeNamed(type);
    return found !== undefined && idIndexOf(catalog, found, id.name) !== undefined;
  }

  /** A record and all that hangs on it, or nothing of them. */
  async #storeOrSkip(transaction: Transaction, record: MappedRecord, tally: Tally): Promise<void> {
    const { settings, sink } = this.#job;
    const place = transaction.savepoint();
    const before = { ...tally };
    try {
      await this.#store(transaction, record, tally);
    } catch (error) {
      if (settings.onRowError !== 'skip' || !(error instanceof DatabaseError)) throw error;
      place.undo();
      Object.assign(tally, before, { errors: before.errors + 1 });
    } finally {
      place.release();
    }
    await sink.pace();
  }

  async #store(transaction: Transaction, record: MappedRecord, tally: Tally): Promise<Rid> {
    const type = transaction.catalog.typeNamed(record.type);
    if (type === undefined)
      throw new DatabaseError('Schema', `Type with name '${record.type}' was not found`);
    const found = record.id === undefined ? noRid : this.#find(transaction, type, record.id);
    if (found !== noRid && !record.merges) return found;
    const properties = new Map(record.properties);
    for (const [name, linked] of record.links)
      properties.set(name, await this.#linked(transaction, linked, tally));
    const written = await this.#written(transaction, type, () => {
      if (found !== noRid) return merged(transaction, found, properties);
      return record.kind === 'vertex'
        ? transaction.insertVertex(type.id, properties)
        : transaction.insertDocument(type.id, properties);
    });
    if (written.rid === noRid)
      throw new DatabaseError(
        'Validation',
        `a trigger keeps a record of type '${record.type}' out`,
      );
    if (found === noRid) tally[record.kind] += 1;
    for (const edge of record.edges) await this.#connect(transaction, written.rid, edge, tally);
    return written.rid;
  }

  async #linked(
    transaction: Transaction,
    linked: MappedRecord | readonly MappedRecord[],
    tally: Tally,
  ): Promise<Value> {
    if (!isMany(linked)) return new Link(await this.#store(transaction, linked, tally));
    const links: Link[] = [];
    for (const one of linked) links.push(new Link(await this.#store(transaction, one, tally)));
    return links;
  }

  async #connect(
    transaction: Transaction,
    from: Rid,
    edge: MappedEdge,
    tally: Tally,
  ): Promise<void> {
    const to = await this.#store(transaction, edge.to, tally);
    const type = transaction.catalog.typeNamed(edge.type) as TypeDefinition;
    if (edge.isOnce && transaction.adjacency(from, 'out', type.id).vertices.includes(to)) return;
    const isOneWay = !this.#job.settings.edgeBidirectional && type.bidirectional;
    const written = await this.#written(transaction, type, () =>
      isOneWay
        ? transaction.insertOneWayEdge(type.id, from, to, edge.properties)
        : transaction.insertEdge(type.id, from, to, edge.properties),
    );
    if (written.rid !== noRid) tally.edge += 1;
  }

  async #written(
    transaction: Transaction,
    type: TypeDefinition,
    write: () => StoredRecord,
  ): Promise<StoredRecord> {
    if (transaction.catalog.definitions.hooks(type.id) === undefined) return write();
    return patientWrite(transaction, write, () => this.#job.runtime.timers.yield());
  }

  #find(transaction: Transaction, type: TypeDefinition, { name, value }: MappedId): Rid {
    const { catalog } = transaction;
    const index = idIndexOf(catalog, type, name);
    const property = catalog.property(type.id, name);
    if (index === undefined || property === undefined) return noRid;
    const formats = this.#job.database.formats();
    const key = coerceDeclared(property, value, { catalog, formats });
    const cursor = transaction.index(index).lookup([key]);
    return cursor.next() ? cursor.rid : noRid;
  }
}

/** The unique index over this property alone. */
function idIndexOf(catalog: Transaction['catalog'], type: TypeDefinition, property: string) {
  return catalog
    .indexesOn(type.id)
    .find(
      ({ unique, state, components: [component, ...others] }) =>
        unique &&
        state === 'READY' &&
        others.length === 0 &&
        component?.property === property &&
        component.by === 'value',
    )?.id;
}

function dataTypeOf({ name, type, value }: MappedId): SchemaTypeName {
  if (type !== undefined) return type;
  const found = value === null ? 'STRING' : schemaTypeOf(value);
  if (found === 'INTEGER') return 'LONG';
  if (found === 'STRING' || found === 'LONG' || found === 'DOUBLE' || found === 'DECIMAL')
    return found;
  throw new DatabaseError(
    'Validation',
    `attribute '${name}' is ${isSchemaType(found) ? found : 'no property type'}, which is no '@id'`,
  );
}

function merged(
  transaction: Transaction,
  rid: Rid,
  properties: ReadonlyMap<string, Value>,
): StoredRecord {
  const record = transaction.record(rid);
  if (record === undefined) throw new DatabaseError('RecordNotFound', 'a record is gone');
  const draft = RecordDraft.of(record);
  for (const [name, value] of properties) draft.assign(name, value);
  return transaction.update(rid, draft.content());
}
