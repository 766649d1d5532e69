import { coerceDeclared } from '#catalog/coercion.ts';
import { DatabaseError } from '#core/errors.ts';
import {
  type IntegerWidth,
  isBeyondInt32,
  isIntegerWidth,
  isSizable,
  valuesOf,
  widthsOf,
} from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { TypeId } from '#core/value/rid.ts';
import { EmbeddedDocument, isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import { recordPropertiesMax, requirePropertyCount } from '#storage/format/row.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import {
  withoutElement,
  withoutValueAt,
  withValueAt,
  type ChangeLimits,
  type PathKey,
} from './nested-change.ts';
import type { ExecutionContext } from '../operator.ts';
import type { RecordDraft } from './record-draft.ts';
import { describeValue } from '../record-identity.ts';

export type CompiledPathElement =
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'element'; readonly key: Evaluator };

/** Assignments with their expressions compiled; `a += b` has been made the value `a + b`. */
export type CompiledAssignment =
  | {
      readonly kind: 'set';
      readonly property: string;
      readonly path: readonly CompiledPathElement[];
      readonly value: Evaluator;
      /** Gives the name of the type of an integer, where more is known of it than its value shows. */
      readonly valueType: Evaluator | undefined;
    }
  | {
      readonly kind: 'remove';
      readonly property: string;
      readonly path: readonly CompiledPathElement[];
      readonly value: Evaluator | undefined;
    }
  | { readonly kind: 'entry'; readonly key: Evaluator; readonly value: Evaluator }
  | {
      readonly kind: 'merge' | 'content';
      readonly value: Evaluator;
      /** As `valueType`, for entries of a map. */
      readonly entryTypes: EntryTypes | undefined;
    };

type EntryTypes = ReadonlyMap<string, Evaluator>;

/**
 * Runs the assignments on the draft, in order. The draft stands in the record's slot, so right sides see earlier changes; values
 * of declared properties are converted as they are assigned (sql.md 2.1).
 *
 * @param ordinal how many records this statement changed before: which item of a CONTENT list is meant
 * @returns how many properties were assigned or removed
 * @throws DatabaseError `IllegalArgument` for values that cannot be assigned
 */
export function runAssignments(
  draft: RecordDraft,
  assignments: readonly CompiledAssignment[],
  context: ExecutionContext,
  ordinal: number,
): number {
  let changeCount = 0;
  for (let at = 0; at < assignments.length; at += 1) {
    const assignment = assignments[at] as CompiledAssignment;
    switch (assignment.kind) {
      case 'set':
        set(draft, assignment, context);
        changeCount += 1;
        break;
      case 'remove':
        remove(draft, assignment, context);
        changeCount += 1;
        break;
      case 'merge':
        changeCount += merge(draft, assignment, assignment.value(context), context);
        break;
      case 'entry':
        throw new DatabaseError('Internal', 'a computed name is assigned in dialect cypher only');
      default:
        changeCount += replace(draft, assignment, ordinal, context);
    }
  }
  return changeCount;
}

/** `property = value`. */
export type PlainAssignment = CompiledAssignment & { readonly kind: 'set' };

/** The assignments, when each gives a value to a property of its own. */
export function plainAssignments(
  assignments: readonly CompiledAssignment[],
): readonly PlainAssignment[] | undefined {
  const plain: PlainAssignment[] = [];
  for (const assignment of assignments) {
    if (assignment.kind !== 'set' || assignment.path.length > 0) return undefined;
    plain.push(assignment);
  }
  return haveOwnProperties(plain) ? plain : undefined;
}

function haveOwnProperties(plain: readonly PlainAssignment[]): boolean {
  return plain.length < 2 || new Set(plain.map(({ property }) => property)).size === plain.length;
}

/** The value for a record of the type, converted as `runAssignments` does. */
export function assignedValue(
  type: TypeId,
  { property, value }: PlainAssignment,
  context: ExecutionContext,
): Value {
  return converted(type, property, value(context), context);
}

/** How wide such a value is, where its property is not declared. To be asked while the record is as the value saw it. */
export function assignedWidth(
  type: TypeId,
  { property, valueType }: PlainAssignment,
  value: Value,
  context: ExecutionContext,
): IntegerWidth | undefined {
  if (valueType === undefined || !isSizable(value)) return undefined;
  const width = widthOf(value, valueType(context));
  if (width === undefined) return undefined;
  return context.view.catalog.property(type, property) === undefined ? width : undefined;
}

/** @param type the name of the type, where it is known */
function widthOf(value: Value, type: Value | undefined): IntegerWidth | undefined {
  if (!isIntegerWidth(type) || !isSizable(value)) return undefined;
  return type === 'LONG' || !isBeyondInt32(value) ? type : undefined;
}

function set(
  draft: RecordDraft,
  assignment: CompiledAssignment & { readonly kind: 'set' },
  context: ExecutionContext,
): void {
  const { property, path } = assignment;
  const value = assignment.value(context);
  if (path.length === 0) {
    assign(draft, property, value, context, assignment.valueType);
    return;
  }
  const container = draft.properties.get(property);
  if (container === undefined || container === null) return;
  const changed = withValueAt(container, evaluated(path, context), value, limitsOf(context));
  if (changed !== container) assign(draft, property, changed, context);
}

function assign(
  draft: RecordDraft,
  property: string,
  value: Value,
  context: ExecutionContext,
  valueType?: Evaluator,
): void {
  const { catalog } = context.view;
  const declared = catalog.property(draft.type, property);
  if (declared !== undefined)
    draft.assign(property, coerceDeclared(declared, value, { catalog, formats: context.formats }));
  else if (valueType === undefined) draft.assign(property, value);
  else draft.assign(property, value, widthOf(value, valueType(context)));
}

/** A property of another record stays as wide as it is there. */
function assignFrom(
  draft: RecordDraft,
  source: StoredRecord,
  property: string,
  value: Value,
  context: ExecutionContext,
): void {
  const { catalog } = context.view;
  if (!isSizable(value) || catalog.property(draft.type, property) !== undefined) {
    assign(draft, property, value, context);
    return;
  }
  const type = catalog.property(source.type, property)?.type;
  draft.assign(property, value, widthOf(value, type ?? source.integerWidths?.get(property)));
}

function converted(type: TypeId, property: string, value: Value, context: ExecutionContext): Value {
  const { catalog } = context.view;
  const declared = catalog.property(type, property);
  return declared ? coerceDeclared(declared, value, { catalog, formats: context.formats }) : value;
}

function remove(
  draft: RecordDraft,
  assignment: CompiledAssignment & { readonly kind: 'remove' },
  context: ExecutionContext,
): void {
  const { property, path } = assignment;
  const container = draft.properties.get(property);
  if (container === undefined) return;
  if (assignment.value !== undefined) {
    removeElement(draft, assignment, container, assignment.value(context), context);
    return;
  }
  if (path.length === 0) {
    draft.properties.delete(property);
    return;
  }
  draft.properties.set(
    property,
    withoutValueAt(container, evaluated(path, context), limitsOf(context)),
  );
}

function removeElement(
  draft: RecordDraft,
  assignment: CompiledAssignment & { readonly kind: 'remove' },
  container: Value,
  value: Value,
  context: ExecutionContext,
): void {
  const path = evaluated(assignment.path, context);
  const limits = limitsOf(context);
  const inner = valueAt(container, path);
  if (inner === undefined) return;
  const changed = withoutElement(inner, value, context.formats);
  if (changed !== inner)
    draft.properties.set(assignment.property, withValueAt(container, path, changed, limits));
}

function valueAt(container: Value, path: readonly PathKey[]): Value | undefined {
  let current: Value | undefined = container;
  for (const step of path) {
    const key = step.kind === 'property' ? step.name : step.key;
    if (isList(current ?? null)) current = (current as readonly Value[])[Number(key)];
    else if (isMap(current ?? null)) current = (current as Map<string, Value>).get(String(key));
    else if (current instanceof EmbeddedDocument) current = current.properties.get(String(key));
    else return undefined;
  }
  return current;
}

type MapAssignment = CompiledAssignment & { readonly kind: 'merge' | 'content' };

/** Sets every entry of a map, record or embedded document; names that start with `@` are skipped. */
function merge(
  draft: RecordDraft,
  { kind, entryTypes }: MapAssignment,
  value: Value,
  context: ExecutionContext,
): number {
  // A sub-query or parameter may give its one map in a list.
  const single = isList(value) && value.length === 1 ? (value[0] as Value) : value;
  const entries = entriesOf(single);
  if (entries === undefined)
    throw new DatabaseError(
      'IllegalArgument',
      `Invalid value for ${kind === 'merge' ? 'UPDATE MERGE' : 'CONTENT'}, expected a map but found: ${describeValue(single)}`,
    );
  requireCountOf(entries);
  let count = 0;
  for (const [name, entry] of entries) {
    if (name.startsWith('@')) continue;
    if (isRecord(single)) assignFrom(draft, single, name, entry, context);
    else assign(draft, name, entry, context, entryTypes?.get(name));
    count += 1;
  }
  return count;
}

/** A record has them all: too many are told before each is assigned, which takes a while. */
function requireCountOf(entries: ReadonlyMap<string, Value>): void {
  if (entries.size <= recordPropertiesMax) return;
  let count = 0;
  for (const name of entries.keys()) if (!name.startsWith('@')) count += 1;
  requirePropertyCount(count);
}

function replace(
  draft: RecordDraft,
  assignment: MapAssignment,
  ordinal: number,
  context: ExecutionContext,
): number {
  const value = assignment.value(context);
  // The i-th record takes the i-th item; records beyond the end of the list stay as they are.
  const item = isList(value) ? value[ordinal] : value;
  if (item === undefined) return 0;
  const before = draft.state();
  draft.clear();
  try {
    return merge(draft, assignment, item, context);
  } catch (error) {
    for (const [name, entry] of before) draft.assign(name, entry, widthsOf(before)?.get(name));
    throw error;
  }
}

function entriesOf(value: Value): ReadonlyMap<string, Value> | undefined {
  if (isMap(value)) return value;
  if (value instanceof EmbeddedDocument) return value.properties;
  return isRecord(value) ? valuesOf(value) : undefined;
}

function evaluated(
  path: readonly CompiledPathElement[],
  context: ExecutionContext,
): readonly PathKey[] {
  return path.map((element) =>
    element.kind === 'property' ? element : { kind: 'element', key: element.key(context) },
  );
}

function limitsOf(context: ExecutionContext): ChangeLimits {
  return { formats: context.formats, elementCountMax: context.limits.elementCountMax };
}

/**
 * Gives the properties that are missing their defaults (sql.md 13.7). A default that evaluates to nothing sets nothing.
 * @param declared the properties of the type that have a default
 */
export function applyDefaults(
  draft: RecordDraft,
  declared: readonly { readonly name: string; readonly source: string }[],
  context: ExecutionContext,
): void {
  for (let at = 0; at < declared.length; at += 1) {
    const { name, source } = declared[at] as (typeof declared)[number];
    if (draft.properties.has(name)) continue;
    const { longCalls } = context;
    const value =
      longCalls === undefined
        ? context.defaults(source)
        : longCalls.once(declared, () => context.defaults(source));
    if (value !== undefined && value !== null) assign(draft, name, value, context);
  }
}

/** The properties of a type that have a default. Cost: one look at each; ask once per statement. */
export function defaultsOf(
  context: ExecutionContext,
  type: Parameters<ExecutionContext['view']['catalog']['properties']>[0],
): readonly { readonly name: string; readonly source: string }[] {
  const defaults: { readonly name: string; readonly source: string }[] = [];
  for (const property of context.view.catalog.properties(type).values())
    if (property.default !== undefined)
      defaults.push({ name: property.name, source: property.default });
  return defaults;
}
