import type { RecordKind, StoredRecord } from '#core/record.ts';
import { noRid, type LogIndex, type Rid, type TypeId } from '#core/rid.ts';
import type { Value } from '#core/value.ts';
import { compareValues } from '#core/value-order.ts';
import type { TypeDefinition } from '#catalog/catalog.ts';

/** A record while a statement changes it: right sides of assignments see what earlier ones did. */
export class RecordDraft implements StoredRecord {
  readonly valueKind = 'record';
  readonly kind: RecordKind;
  readonly rid: Rid;
  readonly type: TypeId;
  readonly typeName: string;
  readonly version: LogIndex;
  readonly out: Rid;
  readonly in: Rid;
  readonly properties: Map<string, Value>;

  private constructor(
    identity: Pick<StoredRecord, 'kind' | 'rid' | 'type' | 'typeName' | 'version' | 'out' | 'in'>,
    properties: Map<string, Value>,
  ) {
    this.kind = identity.kind;
    this.rid = identity.rid;
    this.type = identity.type;
    this.typeName = identity.typeName;
    this.version = identity.version;
    this.out = identity.out;
    this.in = identity.in;
    this.properties = properties;
  }

  /** A record that is yet to be inserted; it has no id. */
  static ofNew(
    type: TypeDefinition,
    ends: { readonly out: Rid; readonly in: Rid } = { out: noRid, in: noRid },
  ): RecordDraft {
    const identity = { kind: type.kind, rid: noRid, type: type.id, typeName: type.name };
    return new RecordDraft({ ...identity, version: 0 as LogIndex, ...ends }, new Map());
  }

  /** A copy of a stored record. */
  static of(record: StoredRecord): RecordDraft {
    return new RecordDraft(record, propertiesOf(record));
  }

  get(property: string): Value | undefined {
    return this.properties.get(property);
  }

  propertyNames(): readonly string[] {
    return [...this.properties.keys()];
  }
}

/** `now` with what the draft changed in `before`, from which it was made. */
export function rebased(draft: RecordDraft, before: StoredRecord, now: StoredRecord): RecordDraft {
  const made = RecordDraft.of(now);
  for (const [name, value] of draft.properties) {
    const old = before.get(name);
    if (old === undefined || compareValues(old, value) !== 0) made.properties.set(name, value);
  }
  for (const name of before.propertyNames())
    if (!draft.properties.has(name)) made.properties.delete(name);
  return made;
}

/** All properties of a record, in stored order. Cost: decodes every cell. */
export function propertiesOf(record: StoredRecord): Map<string, Value> {
  const properties = new Map<string, Value>();
  for (const name of record.propertyNames()) properties.set(name, record.get(name) ?? null);
  return properties;
}
