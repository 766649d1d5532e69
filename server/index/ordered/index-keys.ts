import { foldCase } from '#core/text/case-folding.ts';
import { DatabaseError } from '#core/errors.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import { type EmbeddedDocument, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { IndexComponent, IndexDefinition } from '#catalog/catalog.ts';
import type { IndexTarget } from '#storage/index-target.ts';
import { OrderedKeyWriter } from '#storage/format/ordered-key.ts';
import type { KeyPieces, SearchKeys } from '../key-port.ts';
import { searchKeysFor } from '../search-keys.ts';

/** What keys are made from: a stored record, or one with uncommitted values. */
export type KeySource = Pick<StoredRecord, 'get' | 'out' | 'in'>;

const noKeys: readonly Uint8Array[] = [];

/** Scratch of the functions below, which do not interleave; a buffer for each index of each view would cost more than a read. */
const writer = new OrderedKeyWriter();

/**
 * The keys that records have in one index. The same code serves apply, index builds and the uncommitted writes of
 * a transaction, so they cannot disagree.
 */
export class IndexKeys {
  readonly definition: IndexDefinition;
  readonly target: IndexTarget;
  /** Of the kinds that searches ask; undefined for ordered ones. */
  readonly #search: SearchKeys | undefined;

  constructor(definition: IndexDefinition) {
    this.definition = definition;
    this.#search = searchKeysFor(definition);
    this.target = {
      id: definition.id,
      isUnique: definition.unique,
      isBuilding: definition.state === 'BUILDING',
      ...(definition.isChunked && { isChunked: true }),
    };
  }

  /**
   * The distinct encoded keys of the record: none when a component is null (unless nulls are keys), several for BY ITEM,
   * KEY and VALUE.
   * @throws DatabaseError `SchemaLimit` for a key above the limit
   */
  keysOf(record: KeySource): readonly Uint8Array[] {
    if (this.#search !== undefined) return this.#search.keysOf(record);
    const components = this.definition.components;
    const first = components[0] as IndexComponent;
    if (components.length === 1 && first.by === 'value') {
      const value = singleValue(record, first);
      if (value === null && this.definition.nullStrategy !== 'INDEX') return noKeys;
      writer.reset();
      writer.component(value);
      if (this.definition.tellsDecimals) writer.tellApart();
      return [writer.take()];
    }
    return this.#combinations(record).map((values) => this.#encode(values));
  }

  /** As `keysOf`; pieces for a record with more keys than one turn of the event loop may make (`SearchKeys`). */
  keysOrPieces(record: KeySource): readonly Uint8Array[] | KeyPieces {
    return this.#search?.keysOrPieces?.(record) ?? this.keysOf(record);
  }

  /** The component values of each key, in the order of `keysOf`; texts of CI components are folded. */
  keyValuesOf(record: KeySource): readonly (readonly Value[])[] {
    if (this.#search !== undefined) return [];
    return this.#combinations(record);
  }

  /** @throws DatabaseError `Validation` when the index refuses nulls and the record has one in a component, or a value it cannot hold */
  requireAllowed(record: KeySource): void {
    this.#search?.requireValid(record);
    if (this.definition.nullStrategy !== 'ERROR') return;
    for (const component of this.definition.components) {
      if (!componentValues(record, component).includes(null)) continue;
      throw new DatabaseError(
        'Validation',
        `the index '${this.definition.name}' does not allow null for '${component.property}'`,
      );
    }
  }

  #encode(values: readonly Value[]): Uint8Array {
    writer.reset();
    for (let i = 0; i < values.length; i++) writer.component(values[i] as Value);
    if (this.definition.tellsDecimals) writer.tellApart();
    return writer.take();
  }

  #combinations(record: KeySource): readonly (readonly Value[])[] {
    let rows: readonly Value[][] = [[]];
    for (const component of this.definition.components) {
      const values = componentValues(record, component);
      rows = rows.flatMap((row) => values.map((value) => [...row, value]));
    }
    if (this.definition.nullStrategy !== 'INDEX') rows = rows.filter((row) => !row.includes(null));
    return rows.length > 1 ? this.#distinct(rows) : rows;
  }

  #distinct(rows: readonly (readonly Value[])[]): readonly (readonly Value[])[] {
    const byKey = new Map<string, readonly Value[]>();
    for (const row of rows) {
      const key = Buffer.from(this.#encode(row)).toString('latin1');
      if (!byKey.has(key)) byKey.set(key, row);
    }
    return [...byKey.values()];
  }
}

/** A value as the component keeps it: CI components fold text. Lookups must pass their values through this too. */
export function componentForm(component: IndexComponent, value: Value): Value {
  return component.caseInsensitive && typeof value === 'string' ? foldCase(value) : value;
}

function singleValue(record: KeySource, component: IndexComponent): Value {
  return componentForm(component, propertyValue(record, component.property) ?? null);
}

/** One null stands for a property that is null or does not exist; an empty list or map has no values. */
function componentValues(record: KeySource, component: IndexComponent): readonly Value[] {
  if (component.by === 'value') return [singleValue(record, component)];
  const values: Value[] = [];
  if (component.by === 'item') collectItems(record, component.property, values);
  else {
    const map = entriesOf(propertyValue(record, component.property) ?? null);
    if (map === undefined) values.push(null);
    else values.push(...(component.by === 'mapKey' ? map.keys() : map.values()));
  }
  return values.map((value) => componentForm(component, value));
}

/** A property, `@out` or `@in`, or a dotted path through maps and embedded documents. */
function propertyValue(record: KeySource, property: string): Value | undefined {
  if (property === '@out') return new Link(record.out);
  if (property === '@in') return new Link(record.in);
  const value = record.get(property);
  if (value !== undefined || !property.includes('.')) return value;
  const [head = '', ...rest] = property.split('.');
  let at: Value | undefined = record.get(head);
  for (const name of rest) at = at === undefined ? undefined : entriesOf(at)?.get(name);
  return at;
}

/** Elements of the list at the path; lists on the way (`actors.name`) contribute each of their elements. */
function collectItems(record: KeySource, property: string, values: Value[]): void {
  const whole = record.get(property);
  if (whole !== undefined || !property.includes('.')) {
    addItems(whole ?? null, [], values);
    return;
  }
  const [head = '', ...rest] = property.split('.');
  addItems(record.get(head) ?? null, rest, values);
}

function addItems(value: Value, path: readonly string[], values: Value[]): void {
  if (Array.isArray(value)) {
    for (const item of value as readonly Value[]) addItems(item, path, values);
    return;
  }
  const [name, ...rest] = path;
  if (name === undefined) values.push(value);
  else addItems(entriesOf(value)?.get(name) ?? null, rest, values);
}

function entriesOf(value: Value): ValueMap | undefined {
  if (isMap(value)) return value;
  const tagged = value as EmbeddedDocument | null;
  return typeof tagged === 'object' && tagged?.valueKind === 'embedded'
    ? tagged.properties
    : undefined;
}
