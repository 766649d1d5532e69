import { type DatabaseError, languageError } from '#core/errors.ts';
import { coerceDeclared } from '#catalog/coercion.ts';
import { valuesOf } from '#core/value/integer-width.ts';
import { EmbeddedDocument, isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import { kindName, notA, typeError } from '../../evaluate/cypher-failures.ts';
import type { ExecutionContext } from '../operator.ts';
import type { CompiledAssignment } from './assignments.ts';
import type { RecordDraft } from './record-draft.ts';

/**
 * Runs the assignments of openCypher on the draft, in order: null removes a property, and what cannot be stored is refused.
 *
 * @returns how many properties were set or removed, as the statistics count them (cypher.md 15)
 * @throws DatabaseError `InvalidPropertyType`, `InvalidArgumentType`, and what a conversion to a declared type throws
 */
export function runCypherAssignments(
  draft: RecordDraft,
  assignments: readonly CompiledAssignment[],
  context: ExecutionContext,
): number {
  let count = 0;
  for (let at = 0; at < assignments.length; at += 1) {
    const assignment = assignments[at] as CompiledAssignment;
    switch (assignment.kind) {
      case 'set':
        count += assign(draft, assignment.property, assignment.value(context), context);
        break;
      case 'remove':
        count += assign(draft, assignment.property, null, context);
        break;
      case 'entry': {
        const key = assignment.key(context);
        if (typeof key !== 'string')
          throw typeError('MapElementAccessByNonString', `a key is a string, not ${kindName(key)}`);
        count += assign(draft, key, assignment.value(context), context);
        break;
      }
      case 'merge':
        count += merge(draft, entriesOf(assignment.value(context)), context);
        break;
      default:
        count += replace(draft, entriesOf(assignment.value(context)), context);
    }
  }
  return count;
}

function assign(draft: RecordDraft, name: string, value: Value, context: ExecutionContext): number {
  if (name.startsWith('@'))
    throw typeError('InvalidPropertyType', `'${name}' is no property: it begins with @`);
  if (value === null) return draft.properties.delete(name) ? 1 : 0;
  requireStorable(name, value);
  const { catalog } = context.view;
  const declared = catalog.property(draft.type, name);
  draft.assign(
    name,
    declared ? coerceDeclared(declared, value, { catalog, formats: context.formats }) : value,
  );
  return 1;
}

function merge(
  draft: RecordDraft,
  entries: ReadonlyMap<string, Value>,
  context: ExecutionContext,
): number {
  let count = 0;
  for (const [name, value] of entries) count += assign(draft, name, value, context);
  return count;
}

/** Entries that are not null, and properties that were there before and are no more. */
function replace(
  draft: RecordDraft,
  entries: ReadonlyMap<string, Value>,
  context: ExecutionContext,
): number {
  const before = draft.propertyNames();
  // Values may be those of the record itself.
  const kept = new Map(entries);
  draft.clear();
  const count = merge(draft, kept, context);
  return count + before.filter((name) => !draft.properties.has(name)).length;
}

function entriesOf(value: Value): ReadonlyMap<string, Value> {
  if (isMap(value)) return value;
  if (value instanceof EmbeddedDocument) return value.properties;
  if (isRecord(value)) return valuesOf(value);
  throw notA('a map, node or relationship', value);
}

/** Scalars, times, points, maps, and lists of these that hold no map, list element or null. */
function requireStorable(name: string, value: Exclude<Value, null>): void {
  if (isEntity(value)) throw notStorable(name, kindName(value));
  if (isMap(value)) {
    for (const item of value.values()) if (item !== null) requireStorable(name, item);
    return;
  }
  if (!isList(value)) return;
  for (let at = 0; at < value.length; at += 1) {
    const item = value[at] as Value;
    if (item === null || isMap(item) || isEntity(item))
      throw notStorable(name, `a list with ${kindName(item)} in it`);
    if (isList(item)) requireStorable(name, item);
  }
}

function isEntity(value: Exclude<Value, null>): boolean {
  if (isRecord(value)) return true;
  return typeof value === 'object' && 'valueKind' in value && String(value.valueKind) === 'path';
}

function notStorable(name: string, what: string): DatabaseError {
  return languageError(
    { type: 'TypeError', phase: 'runtime', detail: 'InvalidPropertyType' },
    `property '${name}' cannot hold ${what}`,
  );
}
