import type { TypeDefinition } from '#catalog/catalog.ts';
import { type IntegerWidths, widthsOf } from '#core/value/integer-width.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';

/** A record just written by a transaction, over the properties it was written from: nothing is decoded to read it. */
export class PendingRecord implements StoredRecord {
  readonly valueKind = 'record';
  readonly rid: Rid;
  readonly version: LogIndex;
  readonly out: Rid;
  readonly in: Rid;
  readonly #type: TypeDefinition;
  readonly #properties: ValueMap;

  constructor(
    identity: { readonly rid: Rid; readonly base: LogIndex; readonly from: Rid; readonly to: Rid },
    type: TypeDefinition,
    properties: ValueMap,
  ) {
    this.rid = identity.rid;
    this.version = identity.base;
    this.out = identity.from;
    this.in = identity.to;
    this.#type = type;
    this.#properties = properties;
  }

  get kind(): RecordKind {
    return this.#type.kind;
  }

  get type(): TypeId {
    return this.#type.id;
  }

  get typeName(): string {
    return this.#type.name;
  }

  get isLightweight(): boolean {
    return this.#type.lightweight;
  }

  get(property: string): Value | undefined {
    return this.#properties.get(property);
  }

  propertyNames(): readonly string[] {
    return [...this.#properties.keys()];
  }

  get integerWidths(): IntegerWidths | undefined {
    return widthsOf(this.#properties);
  }
}
