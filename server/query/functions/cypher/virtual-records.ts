import { makeRid, noRid, type LogIndex, type Rid, type TypeId } from '#core/value/rid.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { isList, isMap, isRecord, type Value, type ValueMap } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { volatileScalar } from '../define.ts';

/**
 * Nodes and relationships that a query makes up and nobody stores (cypher.md 9.9, `create.*`). Their ids are of the last bucket,
 * which no type gets, and stand for themselves alone.
 */
export class VirtualRecord implements StoredRecord {
  readonly valueKind = 'record';
  readonly kind: 'vertex' | 'edge';
  readonly rid: Rid;
  readonly type = -1 as TypeId;
  /** Of a node its labels, joined. */
  readonly typeName: string;
  readonly labels: readonly string[];
  readonly version = 0 as LogIndex;
  readonly start: StoredRecord | undefined;
  readonly end: StoredRecord | undefined;
  readonly #properties: ValueMap;

  constructor(
    rid: Rid,
    labels: readonly string[],
    properties: ValueMap,
    ends?: { readonly start: StoredRecord; readonly end: StoredRecord },
  ) {
    this.kind = ends === undefined ? 'vertex' : 'edge';
    this.rid = rid;
    this.labels = [...new Set(labels)].sort();
    this.typeName = this.labels.join('~');
    this.start = ends?.start;
    this.end = ends?.end;
    this.#properties = new Map([...properties].filter(([, value]) => value !== null));
  }

  get out(): Rid {
    return this.start?.rid ?? noRid;
  }

  get in(): Rid {
    return this.end?.rid ?? noRid;
  }

  get(property: string): Value | undefined {
    return this.#properties.get(property);
  }

  propertyNames(): readonly string[] {
    return [...this.#properties.keys()];
  }
}

const lastBucket = 65_535;

function newRid({ runtime }: EvaluationContext): Rid {
  return makeRid(lastBucket, (runtime.random.uint32() % 2 ** 31) * 16 + 1);
}

function propertiesIn(value: Value | undefined): ValueMap {
  if (value === null || value === undefined) return new Map();
  if (isMap(value)) return value;
  throw notA('a map', value);
}

function node(value: Value | undefined): StoredRecord {
  if (value !== undefined && value !== null && isRecord(value) && value.kind === 'vertex')
    return value;
  throw notA('a node', value ?? null);
}

function word(value: Value, what: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw notA(what, value);
}

export const virtualRecords: readonly ScalarFunction[] = [
  volatileScalar(
    'create.vNode(labels [, properties])',
    [1, 2],
    ([labels = null, given], context) => {
      if (labels === null) return null;
      const names = isList(labels) ? labels : [labels];
      return new VirtualRecord(
        newRid(context),
        names.map((name) => word(name, 'a name as label')),
        propertiesIn(given),
      );
    },
  ),
  volatileScalar(
    'create.vRelationship(from, type, to [, properties])',
    [3, 4],
    ([from = null, type = null, to = null, given], context) => {
      if (from === null || to === null) return null;
      const name = word(type, 'a name as type');
      return new VirtualRecord(newRid(context), [name], propertiesIn(given), {
        start: node(from),
        end: node(to),
      });
    },
  ),
];
