import { Link, type StoredRecord } from '#core/value/record.ts';
import { EmbeddedDocument, isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { refusal, textArgument } from '../arguments.ts';
import { ANY_NUMBER, method } from '../define.ts';
import { idOf } from '../../evaluate/navigation.ts';
import { followed } from './navigation.ts';

/**
 * `.include(f...)` and `.exclude(f...)` (sql-functions.md 11.3). From a record the result is a map; `@rid`, `@type` and
 * the other system attributes stand in it only when `include` lists them, and unless `exclude` lists them.
 */
export const selectionMethods: readonly ScalarFunction[] = [
  method("include('f'...)", [1, ANY_NUMBER], (args, context) =>
    selected(args[0] as Value, fieldsIn(args, 'include'), context),
  ),
  method("exclude('f'...)", [1, ANY_NUMBER], (args, context) =>
    selected(args[0] as Value, fieldsIn(args, 'exclude'), context),
  ),
];

interface Fields {
  readonly mode: 'include' | 'exclude';
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
  readonly nameMetadata: boolean;
}

function fieldsIn(args: readonly Value[], mode: 'include' | 'exclude'): Fields {
  const names = new Set<string>();
  const prefixes: string[] = [];
  for (let i = 1; i < args.length; i++) {
    const argument = args[i] as Value;
    for (const one of isList(argument) ? argument : [argument]) {
      const name = textArgument(one, `${mode}()`);
      if (name.endsWith('*')) prefixes.push(name.slice(0, -1));
      else names.add(name.startsWith('@') ? name.toLowerCase() : name);
    }
  }
  const nameMetadata = [...names, ...prefixes].some((name) => name.startsWith('@'));
  return { mode, names, prefixes, nameMetadata };
}

function selected(value: Value, fields: Fields, context: EvaluationContext): Value {
  if (isList(value)) return value.map((element) => selected(element, fields, context));
  const target = followed(value, context);
  if (isRecord(target)) return fromRecord(target, fields);
  if (isMap(target)) return fromEntries(target, new Map(), fields);
  if (!(target instanceof EmbeddedDocument)) return null;
  return fromEntries(
    target.properties,
    picked(new Map<string, Value>([['@type', target.typeName]]), fields),
    fields,
  );
}

function fromRecord(record: StoredRecord, fields: Fields): Value {
  if (record.kind === 'edge' && !fields.nameMetadata)
    throw refusal(
      `Cannot copy an edge: name one of its attributes too, ${fields.mode}('@rid', ...)`,
    );
  const attributes = new Map<string, Value>([
    ['@rid', idOf(record)],
    ['@type', record.typeName],
  ]);
  if (record.kind === 'edge') {
    attributes.set('@in', new Link(record.in));
    attributes.set('@out', new Link(record.out));
  }
  if (fields.names.has('@cat') && fields.mode === 'include')
    attributes.set('@cat', record.kind.charAt(0));
  const target = picked(attributes, fields);
  for (const name of record.propertyNames())
    if (keeps(name, fields)) target.set(name, record.get(name) ?? null);
  return target;
}

function picked(entries: ReadonlyMap<string, Value>, fields: Fields): Map<string, Value> {
  return fromEntries(entries, new Map(), fields);
}

function fromEntries(
  entries: ReadonlyMap<string, Value>,
  target: Map<string, Value>,
  fields: Fields,
): Map<string, Value> {
  for (const [name, value] of entries) if (keeps(name, fields)) target.set(name, value);
  return target;
}

function keeps(name: string, { mode, names, prefixes }: Fields): boolean {
  const isNamed = names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
  return isNamed === (mode === 'include');
}
