import { type DatabaseError, languageError } from '#core/errors.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { coerceDeclared } from '#catalog/coercion.ts';
import { eachInSteps, manyProperties } from '#core/value/many-properties.ts';
import type { TypeId } from '#core/value/rid.ts';
import { valuesOf } from '#core/value/integer-width.ts';
import { EmbeddedDocument, isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import { kindName, notA, typeError } from '../../evaluate/cypher-failures.ts';
import { pausingValue } from '../../evaluate/turns/long-calls.ts';
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
  for (let at = 0; at < assignments.length; at += 1)
    count += runCypherAssignment(draft, assignments[at] as CompiledAssignment, context, {
      isLast: at === assignments.length - 1,
    });
  return count;
}

/**
 * One of them. The draft stays as it is while values are computed, which may be begun anew.
 * @param isLast of those that are begun anew together
 */
export function runCypherAssignment(
  draft: RecordDraft,
  assignment: CompiledAssignment,
  context: ExecutionContext,
  { isLast }: { readonly isLast: boolean },
): number {
  switch (assignment.kind) {
    case 'set':
      return assign(draft, assignment.property, assignment.value(context), context);
    case 'remove':
      return assign(draft, assignment.property, null, context);
    case 'entry': {
      const key = assignment.key(context);
      if (typeof key !== 'string')
        throw typeError('MapElementAccessByNonString', `a key is a string, not ${kindName(key)}`);
      return assign(draft, key, assignment.value(context), context);
    }
    default: {
      const entries = entriesOf(assignment, context);
      if (entries.size >= manyProperties) {
        const { properties, count } = pausingValue(context, assignMany, () =>
          assignMany(draft, assignment.kind, entries, context),
        );
        // What is remembered stays as it is as long as this may be done anew.
        const own = isLast ? properties : new Map(properties);
        draft.become(own, assignment.kind === 'merge' ? entries.keys() : undefined);
        return count;
      }
      const made = storedEntries(draft.type, entries, context);
      return assignment.kind === 'merge' ? merge(draft, made) : replace(draft, made);
    }
  }
}

function assign(draft: RecordDraft, name: string, value: Value, context: ExecutionContext): number {
  requireName(name);
  if (value === null) return draft.properties.delete(name) ? 1 : 0;
  draft.assign(name, stored(draft.type, name, value, context));
  return 1;
}

function requireName(name: string): void {
  if (name.startsWith('@'))
    throw typeError('InvalidPropertyType', `'${name}' is no property: it begins with @`);
}

/** The value as it is assigned. */
function stored(
  type: TypeId,
  name: string,
  value: Exclude<Value, null>,
  context: ExecutionContext,
): Value {
  requireStorable(name, value);
  const { catalog } = context.view;
  const declared = catalog.property(type, name);
  return declared === undefined
    ? value
    : coerceDeclared(declared, value, { catalog, formats: context.formats });
}

function merge(draft: RecordDraft, entries: ReadonlyMap<string, Value>): number {
  let count = 0;
  for (const [name, value] of entries) {
    if (value !== null) draft.assign(name, value);
    else if (!draft.properties.delete(name)) continue;
    count += 1;
  }
  return count;
}

/** Entries that are not null, and properties that were there before and are no more. */
function replace(draft: RecordDraft, entries: ReadonlyMap<string, Value>): number {
  const before = draft.propertyNames();
  draft.clear();
  const count = merge(draft, entries);
  return count + before.filter((name) => !draft.properties.has(name)).length;
}

/** As they are assigned; a map of its own, since values may be those of the record itself. */
function storedEntries(
  type: TypeId,
  entries: ReadonlyMap<string, Value>,
  context: ExecutionContext,
): ReadonlyMap<string, Value> {
  const made = new Map<string, Value>();
  for (const [name, value] of entries) made.set(name, storedEntry(type, name, value, context));
  return made;
}

function storedEntry(type: TypeId, name: string, value: Value, context: ExecutionContext): Value {
  requireName(name);
  return value === null ? null : stored(type, name, value, context);
}

type MapAssignment = CompiledAssignment & { readonly kind: 'merge' | 'content' };

/** What is left of a draft when very many entries were assigned, and how many properties that changed. */
interface Assigned {
  readonly properties: Map<string, Value>;
  readonly count: number;
}

/** As `merge` and `replace`, with pauses. */
function* assignMany(
  draft: RecordDraft,
  kind: MapAssignment['kind'],
  entries: ReadonlyMap<string, Value>,
  context: ExecutionContext,
): PausingWork<Assigned> {
  const { type, properties: before } = draft;
  const properties = new Map<string, Value>();
  if (kind === 'merge')
    yield* eachInSteps(before, ([name, value]) => void properties.set(name, value));
  let count = 0;
  yield* eachInSteps(entries, ([name, given]) => {
    const value = storedEntry(type, name, given, context);
    if (value !== null) properties.set(name, value);
    else if (!properties.delete(name)) return;
    count += 1;
  });
  if (kind === 'content')
    yield* eachInSteps(before.keys(), (name) => {
      if (!properties.has(name)) count += 1;
    });
  return { properties, count };
}

function entriesOf(
  assignment: MapAssignment,
  context: ExecutionContext,
): ReadonlyMap<string, Value> {
  const value = assignment.value(context);
  if (isMap(value)) return value;
  if (value instanceof EmbeddedDocument) return value.properties;
  if (!isRecord(value)) throw notA('a map, node or relationship', value);
  const read = value.manyRead?.();
  return read === undefined ? valuesOf(value) : pausingValue(context, assignment, read).values;
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
