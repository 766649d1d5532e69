import { type SchemaTypeName, schemaTypeNamed } from '#core/value/conversion.ts';
import { DatabaseError } from '#core/errors.ts';
import { isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';

/** How objects of a JSON file become records (import setting `mapping`, http-api.md 18.5). */
export interface RecordMapping {
  readonly kind: 'document' | 'vertex';
  readonly type: TypeOf;
  /** The attribute that names a record: another object with the same one is the same record. */
  readonly id: { readonly name: string; readonly type: SchemaTypeName | undefined } | undefined;
  /** A record that is there takes over the attributes of later objects; otherwise it stays as it is. */
  readonly merges: boolean;
  readonly attributes: ReadonlyMap<string, AttributeMapping>;
}

/** An attribute of a vertex that becomes edges of it to other vertices. */
export interface EdgeMapping {
  readonly kind: 'edge';
  readonly type: string;
  /** Two vertices are connected once, however often the file says so. */
  readonly isOnce: boolean;
  /** The attribute of the edge's object that holds the other vertex; undefined: the value itself does. */
  readonly end: string | undefined;
  readonly vertex: RecordMapping;
}

/** A name, or the attributes of which the first one that is there holds it. */
export type TypeOf = string | { readonly attributes: readonly AttributePath[] };

/** An attribute of the object, or of one that it stands in. */
export interface AttributePath {
  readonly levelsUp: number;
  readonly name: string;
}

export type AttributeMapping =
  | { readonly kind: 'ignore' }
  | { readonly kind: 'copy'; readonly path: AttributePath }
  | RecordMapping
  | EdgeMapping;

/** By the name at the top of the file; `*` is what other names stand for. */
export type FileMapping = ReadonlyMap<string, RecordMapping>;

const depthMax = 32;
const ownNames = new Set(['@cat', '@type', '@id', '@idType', '@strategy', '@in', '@cardinality']);

/** @throws DatabaseError `IllegalArgument` naming the place in the mapping */
export function readMapping(mapping: ValueMap): FileMapping {
  const found = new Map<string, RecordMapping>();
  for (const [name, value] of mapping) {
    const record = attributeMapping(value, [name]);
    if (record.kind !== 'document' && record.kind !== 'vertex')
      throw refused([name], "must have '@cat' 'd' or 'v'");
    found.set(name, record);
  }
  return found;
}

type Place = readonly string[];

/** A list of one mapping says the same as the mapping: it is applied to each element of a list. */
function attributeMapping(value: Value, place: Place): AttributeMapping {
  if (place.length > depthMax) throw refused(place, `is deeper than ${depthMax}`);
  if (typeof value === 'string') return textMapping(value, place);
  const map = isList(value) && value.length === 1 ? (value[0] as Value) : value;
  if (!isMap(map)) throw refused(place, 'must be a map, a list of one map, or a text');
  for (const name of map.keys())
    if (name.startsWith('@') && !ownNames.has(name)) throw refused([...place, name], 'is unknown');
  const category = textAt(map, '@cat', place);
  switch (category) {
    case 'v':
      return recordMapping('vertex', map, place);
    case 'd':
      return recordMapping('document', map, place);
    case 'e':
      return edgeMapping(map, place);
    default:
      throw refused(
        place,
        category === undefined ? "needs '@cat'" : "has an '@cat' that is not 'v', 'd' or 'e'",
      );
  }
}

function textMapping(text: string, place: Place): AttributeMapping {
  if (text === '@ignore') return { kind: 'ignore' };
  const [path] = pathsIn(text) ?? [];
  if (path === undefined) throw refused(place, "must be '@ignore', '<attribute>' or a map");
  return { kind: 'copy', path };
}

function recordMapping(kind: RecordMapping['kind'], map: ValueMap, place: Place): RecordMapping {
  const typeText = textAt(map, '@type', place);
  if (typeText === undefined) throw refused(place, "needs '@type'");
  const paths = pathsIn(typeText);
  const idName = textAt(map, '@id', place);
  const idTypeText = textAt(map, '@idType', place);
  const idType = idTypeText === undefined ? undefined : schemaTypeNamed(idTypeText);
  if (idTypeText !== undefined && idType === undefined)
    throw refused([...place, '@idType'], 'is no type of a property');
  const strategy = textAt(map, '@strategy', place)?.toLowerCase();
  if (strategy !== undefined && strategy !== 'merge')
    throw refused([...place, '@strategy'], "must be 'merge'");
  const attributes = new Map<string, AttributeMapping>();
  for (const [name, value] of map)
    if (!name.startsWith('@')) attributes.set(name, attributeMapping(value, [...place, name]));
  return {
    kind,
    type: paths === undefined ? typeText : { attributes: paths },
    id: idName === undefined ? undefined : { name: idName, type: idType },
    merges: strategy === 'merge',
    attributes,
  };
}

function edgeMapping(map: ValueMap, place: Place): EdgeMapping {
  const type = textAt(map, '@type', place);
  if (type === undefined) throw refused(place, "needs '@type'");
  const cardinality = textAt(map, '@cardinality', place)?.toLowerCase();
  if (cardinality !== undefined && cardinality !== 'no-duplicates')
    throw refused([...place, '@cardinality'], "must be 'no-duplicates'");
  const end = map.get('@in');
  const isNamed = typeof end === 'string';
  const given = isNamed ? map.get(end) : end;
  const endPlace = [...place, isNamed ? end : '@in'];
  if (given === undefined || given === null)
    throw refused(endPlace, 'must say which vertex the edge leads to');
  const vertex = attributeMapping(given, endPlace);
  if (vertex.kind !== 'vertex') throw refused(endPlace, "must have '@cat' 'v'");
  if (!isNamed && vertex.id === undefined) throw refused(endPlace, "needs '@id'");
  const isOnce = cardinality !== undefined;
  return { kind: 'edge', type, isOnce, end: isNamed ? end : undefined, vertex };
}

function textAt(map: ValueMap, name: string, place: Place): string | undefined {
  const value = map.get(name);
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && value !== '') return value;
  throw refused([...place, name], 'must be a text');
}

/** `<a>`, `<../a>`, `<a,b>`; undefined when the text is none of these. */
function pathsIn(text: string): AttributePath[] | undefined {
  const inner = /^<([^<>]+)>$/u.exec(text)?.[1];
  return inner?.split(',').map((part) => {
    const path = part.trim();
    const up = /^(?:\.\.\/)*/u.exec(path)?.[0] ?? '';
    return { levelsUp: up.length / 3, name: path.slice(up.length) };
  });
}

function refused(place: Place, why: string): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `import setting 'mapping': '${place.join('.').slice(0, 200)}' ${why}`,
  );
}
