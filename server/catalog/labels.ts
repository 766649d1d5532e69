import { DatabaseError } from '#core/errors.ts';
import type { RecordKind } from '#core/value/record.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { Catalog, TypeDefinition } from './catalog.ts';
import type { SchemaChange } from './change/changes.ts';
import { nameLengthMax } from './name-rules.ts';

// Labels of openCypher over vertex types (cypher.md 1.1). A node has the labels of its type's lineage; one with several labels is of
// a composite type, which has exactly these as supertypes and the name that they give it. Which types are composite is seen from
// names and supertypes alone. Start reading at `typeOfLabels`.

/** The type of nodes without a label; no query can name it. */
export const noLabelType = '~NO_LABEL~';

/** What a composite name that would be too long keeps of it; the rest is a hash. */
const stemLength = 200;

/** The name of the type that has these labels; sorted, each once, joined by `~`. */
export function compositeName(labels: readonly string[]): string {
  const distinct = [...new Set(labels)].sort(byCodeUnit);
  const joined = distinct.join('~');
  const characters = Array.from(joined);
  if (characters.length <= nameLengthMax) return joined;
  return `${characters.slice(0, stemLength).join('')}~${hashOf(joined)}`;
}

/** Two 32-bit FNV-1a hashes of the text, in hexadecimal digits. */
function hashOf(text: string): string {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193) >>> 0;
    b = Math.imul(b ^ unit ^ at, 0x01000193) >>> 0;
  }
  return a.toString(16).padStart(8, '0') + b.toString(16).padStart(8, '0');
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether a type stands for several labels. A user's type may have taken the name: then the composite one ends with more `~`. */
export function isComposite(catalog: Catalog, type: TypeDefinition): boolean {
  if (type.kind !== 'vertex' || type.supertypes.length < 2) return false;
  const name = compositeName(type.supertypes.map((id) => catalog.typeWithId(id).name));
  return type.name.startsWith(name) && /^~*$/.test(type.name.slice(name.length));
}

/** The labels whose types make up the type of a node: itself, what it is composed of, or none. */
export function ownLabels(catalog: Catalog, id: TypeId): readonly string[] {
  const type = catalog.typeWithId(id);
  if (type.name === noLabelType) return [];
  if (!isComposite(catalog, type)) return [type.name];
  return type.supertypes.map((supertype) => catalog.typeWithId(supertype).name).sort(byCodeUnit);
}

/** `labels(n)`: the names of the type and of all it inherits from, sorted, without composite and reserved ones. */
export function labelsOf(catalog: Catalog, id: TypeId): readonly string[] {
  const names: string[] = [];
  for (const type of catalog.types()) {
    if (!catalog.isSubtype(id, type.id)) continue;
    if (type.name !== noLabelType && !isComposite(catalog, type)) names.push(type.name);
  }
  return names.sort(byCodeUnit);
}

/** Whether the node is a T or inherits from it. */
export function hasLabel(catalog: Catalog, id: TypeId, label: string): boolean {
  const type = catalog.typeNamed(label);
  return type !== undefined && catalog.isSubtype(id, type.id);
}

/** The type of nodes with exactly these labels; undefined while there is none. */
export function typeOfLabels(
  catalog: Catalog,
  labels: readonly string[],
): TypeDefinition | undefined {
  const distinct = [...new Set(labels)];
  for (const label of distinct) requireUnreserved(label);
  if (distinct.length < 2) return vertexType(catalog, distinct[0] ?? noLabelType);
  const parts = distinct.map((label) => vertexType(catalog, label)?.id);
  const name = compositeName(distinct);
  return catalog
    .types()
    .find(
      (type) =>
        type.supertypes.length === distinct.length &&
        type.name.startsWith(name) &&
        isComposite(catalog, type) &&
        parts.every((part) => part !== undefined && type.supertypes.includes(part)),
    );
}

/** @throws DatabaseError `IllegalArgument` when the name is that of an edge or document type */
function vertexType(catalog: Catalog, name: string): TypeDefinition | undefined {
  const type = catalog.typeNamed(name);
  if (type === undefined || type.kind === 'vertex') return type;
  throw new DatabaseError(
    'IllegalArgument',
    `Type '${name}' is ${type.kind === 'edge' ? 'an edge' : 'a document'} type and no label`,
  );
}

/** Makes the types that nodes with these labels need, in order; empty when they are there. @throws as `typeOfLabels` */
export function changesForLabels(
  catalog: Catalog,
  labels: readonly string[],
): readonly SchemaChange[] {
  const distinct = [...new Set(labels)].sort(byCodeUnit);
  if (typeOfLabels(catalog, distinct) !== undefined) return [];
  if (distinct.length === 0) return [vertexTypeNamed(noLabelType, [])];
  const changes: SchemaChange[] = [];
  for (const label of distinct)
    if (vertexType(catalog, label) === undefined) changes.push(vertexTypeNamed(label, []));
  if (distinct.length === 1) return changes;
  let name = compositeName(distinct);
  while (catalog.typeNamed(name) !== undefined || distinct.includes(name)) name += '~';
  return [...changes, vertexTypeNamed(name, distinct)];
}

function vertexTypeNamed(name: string, supertypes: readonly string[]): SchemaChange {
  return newType('vertex', name, supertypes);
}

/** A type that is made on the fly. */
export function newType(
  kind: RecordKind,
  name: string,
  supertypes: readonly string[],
): SchemaChange {
  return {
    kind: 'create-type',
    type: kind,
    name,
    // Whoever makes the same one at the same time succeeds as well.
    ifNotExists: true,
    supertypes,
    buckets: [],
    bucketCount: undefined,
    custom: new Map(),
    bidirectional: true,
    lightweight: false,
    uniqueEdges: false,
  };
}

/** What SET and REMOVE of labels do to a node. */
export interface LabelChange {
  readonly mode: 'add' | 'remove';
  readonly labels: readonly string[];
}

/** The labels whose types make up the node afterwards, and how many it gained or lost. */
export function relabelled(
  catalog: Catalog,
  id: TypeId,
  { mode, labels }: LabelChange,
): { readonly labels: readonly string[]; readonly count: number } {
  const own = ownLabels(catalog, id);
  const wanted = new Set(labels.flatMap((label) => namedLabels(catalog, label)));
  if (mode === 'remove') {
    const left = own.filter((label) => !wanted.has(label));
    return { labels: left, count: own.length - left.length };
  }
  const gained = [...wanted].filter((label) => !hasLabel(catalog, id, label));
  return { labels: [...own, ...gained], count: gained.length };
}

/** A composite type stands for its labels, by whatever name it is called. */
function namedLabels(catalog: Catalog, label: string): readonly string[] {
  requireUnreserved(label);
  const type = catalog.typeNamed(label);
  if (type === undefined) return [label];
  vertexType(catalog, label);
  return isComposite(catalog, type) ? ownLabels(catalog, type.id) : [type.name];
}

function requireUnreserved(label: string): void {
  if (label !== noLabelType) return;
  throw new DatabaseError('IllegalArgument', `'${noLabelType}' is reserved and cannot be a label`);
}

/** Whether rows of the type may lie in the bucket of a record. */
export function mayLieIn(catalog: Catalog, type: TypeId, bucket: BucketId): boolean {
  return (
    catalog.bucketWithId(bucket)?.type === type || catalog.windowsOn(bucket)?.has(type) === true
  );
}

/**
 * What must be made before a record in the bucket can have the labels; empty when nothing.
 * @throws as `typeOfLabels`
 */
export function missingForLabels(
  catalog: Catalog,
  labels: readonly string[],
  bucket: BucketId,
): readonly SchemaChange[] {
  const changes = changesForLabels(catalog, labels);
  const made = changes.at(-1);
  const type = typeOfLabels(catalog, labels);
  const name = made?.kind === 'create-type' ? made.name : type?.name;
  if (name === undefined || (type !== undefined && mayLieIn(catalog, type.id, bucket))) return [];
  return [...changes, { kind: 'open-window', bucket, type: name }];
}

/**
 * A statement needs types or windows that are not there yet. Whoever runs it takes back what it has done, makes them and executes
 * it again by the new schema.
 */
export class MissingTypes extends DatabaseError {
  readonly changes: readonly SchemaChange[];

  constructor(changes: readonly SchemaChange[]) {
    const names = changes.flatMap((change) => (change.kind === 'create-type' ? [change.name] : []));
    super('Schema', `types that are made on the fly cannot be made here: ${names.join(', ')}`);
    this.changes = changes;
  }

  /** Windows alone are no change of the schema that anybody needs a right for. */
  get makesTypes(): boolean {
    return this.changes.some(({ kind }) => kind === 'create-type');
  }
}
