import { Link } from '#core/value/record.ts';
import { EmbeddedDocument, isRecord } from '#core/value/value.ts';
import type { Value } from '#core/value/value.ts';
import type { NestedItem, Slot } from '../algebra/expression.ts';
import type { EvaluationContext, Frame } from './context.ts';
import { valuesOfElements } from './turns/element-turns.ts';
import type { Evaluator } from './evaluator.ts';
import { idOf, propertyOfRecord } from './navigation.ts';

/** `value:{...}` (sql.md 7.5), and the row of `SELECT *, x AS y`. */

/** An item whose expressions are compiled. */
export type CompiledItem =
  | Exclude<NestedItem, { kind: 'merge' } | { kind: 'include' }>
  | { readonly kind: 'merge'; readonly value: Evaluator }
  | { readonly kind: 'include'; readonly name: string; readonly value: Evaluator };

/**
 * Builds a map from a record, map or embedded document, items acting on it in order. Links are followed (a missing record
 * gives null), lists are projected element by element, other values pass unchanged.
 */
export function compileNestedProjection(
  of: Evaluator,
  element: Slot,
  items: readonly CompiledItem[],
): Evaluator {
  return (context) => project(of(context), element, items, context);
}

function project(
  value: Value,
  element: Slot,
  items: readonly CompiledItem[],
  context: EvaluationContext,
): Value {
  if (value instanceof Link)
    return project(context.view.record(value.rid) ?? null, element, items, context);
  if (Array.isArray(value)) {
    const projected = (item: Value) => project(item, element, items, context);
    // Calls of expressions are to be met by the evaluation itself, which can pause in them.
    if (items.every(isPlain)) return valuesOfElements(value, context, project, projected);
    return value.map(projected);
  }
  if (!isRecord(value) && !(value instanceof Map) && !(value instanceof EmbeddedDocument))
    return value;
  (context.frame as Frame)[element] = value;
  const row = new Map<string, Value>();
  for (let i = 0; i < items.length; i++) applyItem(items[i] as CompiledItem, row, value, context);
  return row;
}

function isPlain({ kind }: CompiledItem): boolean {
  return kind !== 'merge' && kind !== 'include';
}

function applyItem(
  item: CompiledItem,
  row: Map<string, Value>,
  element: Value,
  context: EvaluationContext,
): void {
  switch (item.kind) {
    case 'all':
      mergeInto(row, element, '', context);
      break;
    case 'merge':
      mergeInto(row, item.value(context), '', context);
      break;
    case 'include':
      row.set(item.name, item.value(context));
      break;
    case 'includePrefix':
      mergeInto(row, element, item.prefix, context);
      break;
    case 'exclude':
      row.delete(item.name);
      break;
    case 'excludePrefix':
      for (const name of row.keys()) if (name.startsWith(item.prefix)) row.delete(name);
      break;
  }
}

/** Puts `@rid`, `@type` and the properties whose names start with `prefix` into the row. */
function mergeInto(
  row: Map<string, Value>,
  source: Value,
  prefix: string,
  context: EvaluationContext,
): void {
  if (source instanceof Map) {
    for (const [name, value] of source) if (name.startsWith(prefix)) row.set(name, value);
  } else if (source instanceof EmbeddedDocument) {
    if ('@type'.startsWith(prefix)) row.set('@type', source.typeName);
    for (const [name, value] of source.properties)
      if (name.startsWith(prefix)) row.set(name, value);
  } else if (isRecord(source)) {
    if ('@rid'.startsWith(prefix)) row.set('@rid', idOf(source));
    if ('@type'.startsWith(prefix)) row.set('@type', source.typeName);
    const names = source.propertyNames();
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string;
      if (name.startsWith(prefix))
        row.set(name, propertyOfRecord(source, name, context, mergeInto));
    }
  }
}
