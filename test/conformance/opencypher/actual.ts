import type { StoredRecord } from '#core/value/record.ts';
import { isList, isMap, isRecord, kindOf, type Value } from '#core/value/value.ts';
import {
  floatText,
  listText,
  mapText,
  nodeText,
  type PrintOptions,
  relationshipText,
  stringText,
} from './notation.ts';

/** Values as the server gave them, in the canonical text of `notation.ts`. */

/** The type of nodes without labels. */
const noLabel = '~NO_LABEL~';

interface PathLike {
  readonly nodes: readonly StoredRecord[];
  readonly relationships: readonly StoredRecord[];
}

export interface ActualPrinter extends PrintOptions {
  /** The text of a value that is neither plain nor of the graph: times, durations, points. */
  textOf(value: Value): string;
}

export function printActual(value: Value, printer: ActualPrinter): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return stringText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : floatText(value);
  if (isList(value))
    return listText(
      value.map((item) => printActual(item, printer)),
      printer,
    );
  if (isMap(value))
    return mapText([...value].map(([key, item]) => [key, printActual(item, printer)]));
  if (isRecord(value)) return printRecord(value, printer);
  if (kindOf(value) === 'double') return floatText((value as { number: number }).number);
  if ('valueKind' in value && String(value.valueKind) === 'path')
    return printPath(value as unknown as PathLike, printer);
  return stringText(printer.textOf(value));
}

export function labelsOf(typeName: string): readonly string[] {
  return typeName === noLabel ? [] : typeName.split('~');
}

function printRecord(record: StoredRecord, printer: ActualPrinter): string {
  const properties = record
    .propertyNames()
    .map((name) => [name, printActual(record.get(name) ?? null, printer)] as const);
  return record.kind === 'edge'
    ? relationshipText(record.typeName, properties)
    : nodeText(labelsOf(record.typeName), properties);
}

function printPath({ nodes, relationships }: PathLike, printer: ActualPrinter): string {
  let text = printActual(nodes[0] as StoredRecord, printer);
  relationships.forEach((relationship, at) => {
    const isForward = relationship.out === nodes[at]?.rid && relationship.in === nodes[at + 1]?.rid;
    const inner = printActual(relationship, printer);
    const next = printActual(nodes[at + 1] as StoredRecord, printer);
    text += isForward ? `-${inner}->${next}` : `<-${inner}-${next}`;
  });
  return `<${text}>`;
}
