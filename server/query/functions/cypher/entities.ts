import { DatabaseError } from '#core/errors.ts';
import { formatRid, isRidShaped, parseRid, type Rid } from '#core/value/rid.ts';
import type { Catalog } from '#catalog/catalog.ts';
import { isComposite, noLabelType } from '#catalog/labels.ts';
import { valuesOf } from '#core/value/integer-width.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { eachInSteps, manyProperties } from '#core/value/many-properties.ts';
import { Path } from '#core/value/path.ts';
import { Link, type StoredRecord } from '#core/value/record.ts';
import { EmbeddedDocument, isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { kindName, notA, typeError } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { canPause, pausingValue } from '../../evaluate/turns/long-calls.ts';
import { scalar } from '../define.ts';
import { VirtualRecord } from './virtual-records.ts';

/** Functions of openCypher on nodes, relationships and paths (cypher.md 9.1); null gives null. */

type OfOne = (value: Exclude<Value, null>, context: EvaluationContext) => Value;

function ofOne(name: string, evaluate: OfOne): ScalarFunction {
  return scalar(`#cypher.${name}(x)`, [1, 1], ([value], context) =>
    value === null || value === undefined ? null : evaluate(value, context),
  );
}

function record(value: Exclude<Value, null>, what = 'a node or relationship'): StoredRecord {
  if (isRecord(value)) return value;
  throw notA(what, value);
}

function edge(value: Exclude<Value, null>): StoredRecord {
  if (isRecord(value) && value.kind === 'edge') return value;
  throw notA('a relationship', value);
}

/** Type name and ancestors in order, without composite names and the type of nodes without labels. */
function labelsOf(node: StoredRecord, catalog: Catalog): readonly string[] {
  if (node instanceof VirtualRecord) return node.labels;
  // The name is asked first: of a deleted node it is refused.
  const own = node.typeName;
  const names = catalog
    .types()
    .filter((type) => type.kind === 'vertex' && catalog.isSubtype(node.type, type.id))
    .filter(({ name }) => name !== noLabelType)
    .filter((type) => !isComposite(catalog, type))
    .map(({ name }) => name);
  return names.length === 0 && own !== noLabelType ? [own] : names.sort();
}

function isAcyclic(value: Value): Value {
  if (!(value instanceof Path)) return null;
  return new Set(value.nodes.map(({ rid }) => rid)).size === value.nodes.length;
}

function ofPath(value: Exclude<Value, null>, part: 'nodes' | 'relationships' | 'length'): Value {
  if (!(value instanceof Path)) throw notA('a path', value);
  return part === 'length' ? value.length : [...value[part]];
}

type Entries = ReadonlyMap<string, Value>;

function entriesOf(value: Exclude<Value, null>): Entries {
  if (isRecord(value)) return valuesOf(value);
  if (isMap(value)) return value;
  if (value instanceof EmbeddedDocument) return value.properties;
  throw notA('a node, relationship or map', value);
}

/** What reads them with pauses, where they are many. */
function manyEntriesOf(value: Exclude<Value, null>): (() => PausingWork<Entries>) | undefined {
  const read = isRecord(value) ? value.manyRead?.() : undefined;
  if (read !== undefined)
    return function* () {
      return (yield* read()).values;
    };
  if (!isMap(value) || value.size < manyProperties) return undefined;
  // biome-ignore lint/correctness/useYield: the map is there.
  return function* () {
    return value;
  };
}

/** A function of the entries of a map or record, with pauses where they are many and the statement can pause. */
function ofEntries<T extends Value>(
  name: string,
  begin: (of: Exclude<Value, null>) => {
    readonly add: (key: string, item: Value) => void;
    readonly result: T;
  },
): ScalarFunction {
  const function_ = ofOne(name, (value, context) => {
    const read = canPause(context) ? manyEntriesOf(value) : undefined;
    if (read === undefined) {
      const { add, result } = begin(value);
      for (const [key, item] of entriesOf(value)) add(key, item);
      return result;
    }
    return pausingValue<T>(context, function_, function* () {
      const { add, result } = begin(value);
      yield* eachInSteps(yield* read(), ([key, item]) => add(key, item));
      return result;
    });
  });
  return { ...function_, worksInTurns: true };
}

const keys = ofEntries('keys', (of) => {
  const result: string[] = [];
  const isOfRecord = isRecord(of);
  return {
    add(key, item) {
      if (item !== null || !isOfRecord) result.push(key);
    },
    result,
  };
});

const properties = ofEntries('properties', () => {
  const result = new Map<string, Value>();
  return { add: (key, item) => void result.set(key, item), result };
});

function end(value: Exclude<Value, null>, side: 'out' | 'in', context: EvaluationContext): Value {
  const of = edge(value);
  if (of instanceof VirtualRecord) return (side === 'out' ? of.start : of.end) ?? null;
  const rid: Rid = of[side];
  return context.view.record(rid) ?? null;
}

/** Record ids as links: numbers of `id()`, texts of `elementId()`, lists of these; what is neither names nothing. */
function rids(value: Value): Value {
  const values = isList(value) ? value : [value];
  return values.flatMap((item): readonly Value[] => {
    if (typeof item === 'number' && Number.isInteger(item) && item >= 0)
      return [new Link(item as Rid)];
    const rid = typeof item === 'string' && isRidShaped(item) ? parseRid(item) : undefined;
    return rid === undefined ? [] : [new Link(rid)];
  });
}

/** What `id()` is compared with: a text that is shaped like a record id stands for its number. */
function asId(value: Value): Value {
  if (typeof value !== 'string' || !isRidShaped(value)) return value;
  return parseRid(value) ?? value;
}

export const entityFunctions: readonly ScalarFunction[] = [
  scalar('#cypher.#useDatabase(name)', [1, 1], ([name], { databaseName }) => {
    if (name === databaseName) return true;
    throw new DatabaseError(
      'NotSupported',
      `not supported: USE ${String(name)} in database '${databaseName}'; a statement uses the database that it is sent to`,
    );
  }),
  ofOne('id', (value) => record(value).rid),
  ofOne('elementId', (value) => formatRid(record(value).rid)),
  ofOne('labels', (value, context) => {
    if (!isRecord(value) || value.kind === 'edge')
      throw typeError('InvalidArgumentValue', `labels() of ${kindName(value)}`);
    return labelsOf(value, context.view.catalog);
  }),
  ofOne('type', (value) => {
    if (isRecord(value) && value.kind === 'edge') return value.typeName;
    throw typeError('InvalidArgumentValue', `type() of ${kindName(value)}`);
  }),
  keys,
  properties,
  ofOne('startNode', (value, context) => end(value, 'out', context)),
  ofOne('endNode', (value, context) => end(value, 'in', context)),
  ofOne('nodes', (value) => ofPath(value, 'nodes')),
  ofOne('relationships', (value) => ofPath(value, 'relationships')),
  ofOne('length', (value) => ofPath(value, 'length')),
  scalar('#cypher.rids(x)', [1, 1], ([value]) => rids(value ?? null)),
  scalar('#cypher.asId(x)', [1, 1], ([value]) => asId(value ?? null)),
  scalar('#cypher.isAcyclic(path)', [1, 1], ([value]) => isAcyclic(value ?? null)),
];
