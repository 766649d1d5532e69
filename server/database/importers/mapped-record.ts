import { DatabaseError } from '#core/errors.ts';
import { isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { AttributePath, EdgeMapping, RecordMapping, TypeOf } from './json-mapping.ts';

/** What an object of a file becomes by its mapping: records and edges that nobody has looked for in the database yet. */
export interface MappedRecord {
  readonly kind: RecordMapping['kind'];
  readonly type: string;
  readonly id: MappedId | undefined;
  readonly merges: boolean;
  readonly properties: Map<string, Value>;
  /** Records of their own that properties link to. */
  readonly links: ReadonlyMap<string, MappedRecord | readonly MappedRecord[]>;
  readonly edges: readonly MappedEdge[];
}

export interface MappedId {
  readonly name: string;
  readonly type: NonNullable<RecordMapping['id']>['type'];
  readonly value: Value;
}

export interface MappedEdge {
  readonly type: string;
  readonly isOnce: boolean;
  readonly properties: ValueMap;
  readonly to: MappedRecord;
}

interface Scope {
  readonly attributes: Map<string, Value>;
  readonly parent: Scope | undefined;
}

/** @throws DatabaseError `Validation` when the object lacks what its mapping needs of it */
export function mapped(mapping: RecordMapping, object: ValueMap, parent?: Scope): MappedRecord {
  const scope: Scope = { attributes: new Map(object), parent };
  for (const [name, rule] of mapping.attributes) {
    if (rule.kind !== 'copy') continue;
    const value = valueAt(scope, rule.path);
    if (value !== undefined) scope.attributes.set(name, value);
  }
  const type = typeOf(mapping.type, scope);
  const properties = new Map<string, Value>();
  const links = new Map<string, MappedRecord | MappedRecord[]>();
  const edges: MappedEdge[] = [];
  for (const [name, value] of scope.attributes) {
    const rule = mapping.attributes.get(name);
    if (name.startsWith('@') || rule?.kind === 'ignore') continue;
    if (rule === undefined || rule.kind === 'copy' || value === null) properties.set(name, value);
    else if (rule.kind === 'edge') edges.push(...edgesOf(rule, value, scope, name));
    else if (isList(value))
      links.set(
        name,
        value.map((one) => mapped(rule, attributesOf(rule, one, name), scope)),
      );
    else links.set(name, mapped(rule, attributesOf(rule, value, name), scope));
  }
  if (mapping.kind === 'document' && edges.length > 0)
    throw new DatabaseError('Validation', `type '${type}' is of documents, which have no edges`);
  const id = idOf(mapping, scope, type);
  if (id !== undefined) properties.set(id.name, id.value);
  return { kind: mapping.kind, type, id, merges: mapping.merges, properties, links, edges };
}

function idOf(mapping: RecordMapping, scope: Scope, type: string): MappedId | undefined {
  if (mapping.id === undefined) return undefined;
  const value = scope.attributes.get(mapping.id.name);
  if (value === undefined || value === null)
    throw new DatabaseError(
      'Validation',
      `an object of type '${type}' has no attribute '${mapping.id.name}', which is its '@id'`,
    );
  return { ...mapping.id, value };
}

function edgesOf(
  rule: EdgeMapping,
  value: Value,
  scope: Scope,
  name: string,
): readonly MappedEdge[] {
  const values = isList(value) ? value : [value];
  return values.filter((one) => one !== null).map((one) => edgeOf(rule, one, scope, name));
}

function edgeOf(rule: EdgeMapping, value: Value, scope: Scope, name: string): MappedEdge {
  const { type, isOnce, end, vertex } = rule;
  if (end === undefined) {
    const to = mapped(vertex, attributesOf(vertex, value, name), scope);
    return { type, isOnce, properties: new Map(), to };
  }
  const given = isMap(value) ? value.get(end) : undefined;
  if (!isMap(value) || given === undefined || given === null)
    throw new DatabaseError(
      'Validation',
      `attribute '${name}' is no object with an attribute '${end}', which its mapping names by '@in'`,
    );
  const inner = { attributes: new Map(value), parent: scope };
  const properties = new Map([...value].filter(([key]) => key !== end && !key.startsWith('@')));
  const to = mapped(vertex, attributesOf(vertex, given, `${name}.${end}`), inner);
  return { type, isOnce, properties, to };
}

/** An object, or a value that stands for the id of one. */
function attributesOf(rule: RecordMapping, value: Value, name: string): ValueMap {
  if (isMap(value)) return value;
  if (rule.id !== undefined && value !== null && !isList(value))
    return new Map([[rule.id.name, value]]);
  throw new DatabaseError('Validation', `attribute '${name}' is no object, as its mapping says`);
}

function typeOf(type: TypeOf, scope: Scope): string {
  if (typeof type === 'string') return type;
  for (const path of type.attributes) {
    const value = valueAt(scope, path);
    if (typeof value === 'string' && value !== '') return value;
  }
  const names = type.attributes.map(({ name }) => `'${name}'`).join(', ');
  throw new DatabaseError('Validation', `an object has no text in ${names}, which is its '@type'`);
}

function valueAt(scope: Scope, { levelsUp, name }: AttributePath): Value | undefined {
  let at: Scope | undefined = scope;
  for (let level = 0; level < levelsUp; level += 1) at = at?.parent;
  return at?.attributes.get(name);
}

/** Every record of it, those before others that name them. */
export function* recordsOf(record: MappedRecord): Generator<MappedRecord> {
  for (const linked of record.links.values())
    for (const one of isMany(linked) ? linked : [linked]) yield* recordsOf(one);
  yield record;
  for (const { to } of record.edges) yield* recordsOf(to);
}

export function isMany(
  linked: MappedRecord | readonly MappedRecord[],
): linked is readonly MappedRecord[] {
  return Array.isArray(linked);
}
