import { isList, isMap, kindOf, type Value, type ValueMap } from '#core/value/value.ts';
import { labelsOf } from './actual.ts';
import {
  floatText,
  listText,
  mapText,
  nodeText,
  type PrintOptions,
  relationshipText,
  stringText,
} from './notation.ts';
import { type GraphState, graphStateOf } from './side-effects.ts';

/** Values as JSON gives them (cypher.md 14), in the canonical text of `notation.ts`. */

const floatsAsText: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  PosInfinity: Number.POSITIVE_INFINITY,
  NegInfinity: Number.NEGATIVE_INFINITY,
};

export function printAnswered(value: Value, options: PrintOptions): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') {
    const float = floatsAsText[value];
    return float === undefined ? stringText(value) : floatText(float);
  }
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : floatText(value);
  if (isList(value))
    return listText(
      value.map((item) => printAnswered(item, options)),
      options,
    );
  if (isMap(value)) return printMap(value, options);
  if (kindOf(value) === 'double') return floatText((value as { number: number }).number);
  throw new Error(`no value of JSON: ${kindOf(value)}`);
}

function printMap(value: ValueMap, options: PrintOptions): string {
  if (value.get('@cat') === 'path') return printPath(value, options);
  if (!value.has('@cat'))
    return mapText([...value].map(([key, item]) => [key, printAnswered(item, options)]));
  const properties = propertiesOf(value, options);
  const typeName = String(value.get('@type'));
  return value.get('@cat') === 'e'
    ? relationshipText(typeName, properties)
    : nodeText(labelsOf(typeName), properties);
}

function propertiesOf(record: ValueMap, options: PrintOptions): (readonly [string, string])[] {
  return [...record]
    .filter(([key]) => !key.startsWith('@'))
    .map(([key, item]) => [key, printAnswered(item, options)] as const);
}

function printPath(path: ValueMap, options: PrintOptions): string {
  const nodes = path.get('nodes') as readonly ValueMap[];
  const relationships = path.get('relationships') as readonly ValueMap[];
  if (path.get('length') !== relationships.length) throw new Error('a path of another length');
  let text = printMap(nodes[0] as ValueMap, options);
  relationships.forEach((relationship, at) => {
    const [from, to] = [nodes[at]?.get('@rid'), nodes[at + 1]?.get('@rid')];
    const isForward = relationship.get('@out') === from && relationship.get('@in') === to;
    const inner = printMap(relationship, options);
    const next = printMap(nodes[at + 1] as ValueMap, options);
    text += isForward ? `-${inner}->${next}` : `<-${inner}-${next}`;
  });
  return `<${text}>`;
}

/** The graph that consists of these records. */
export function answeredGraph(records: readonly ValueMap[], options: PrintOptions): GraphState {
  return graphStateOf(
    records.map((record) => ({
      id: String(record.get('@rid')),
      isRelationship: record.get('@cat') === 'e',
      typeName: String(record.get('@type')),
      properties: propertiesOf(record, options),
    })),
  );
}
