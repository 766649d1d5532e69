import { isIntegerWidth } from '#core/value/integer-width.ts';
import type { Expression as Computed, Slot } from '#query/algebra/expression.ts';
import type { EntryTypes, LogicalPlan } from '#query/algebra/plan.ts';
import { type KnownType, typeExpression, widthsFunction } from '#query/binder/value-type.ts';
import type { Row } from '#query/binder/row.ts';
import type { Scope } from '#query/binder/scope.ts';
import type { Analysis, Environment } from '../analysis.ts';

// Types that values do not show (sql.md 2.2), where an expression stands in a statement: for `.type()`, and for undeclared
// properties, which keep the type of the integer that they are given (2.1 rule 1).

/** The name of the type of the value, as far as more is known of it than it shows. */
export function knownType(
  analysis: Analysis,
  value: Computed,
  { scope }: Environment,
): Computed | undefined {
  const known = analysis.valueTypes(planAround(scope)).of(value);
  if (known !== undefined) return typeExpression(known);
  // Of whatever holds the property: a vertex at the other end, an element of a list.
  if (value.op !== 'Property') return undefined;
  const { of: holder, name } = value;
  const of = [{ holder, name, isUndeclared: false }];
  return typeExpression({ kind: 'asked', of, isSum: false });
}

/** As `knownType` for a value that is assigned: only widths of integers count. */
export function assignedType(
  analysis: Analysis,
  value: Computed,
  scope: Scope,
): Computed | undefined {
  return widthExpression(analysis.valueTypes(planAround(scope)).of(value));
}

/** For entries of the map that CONTENT or MERGE assigns. */
export function assignedEntryTypes(
  analysis: Analysis,
  map: Computed,
  scope: Scope,
): { readonly entryTypes?: EntryTypes } {
  if (map.op !== 'Map') return {};
  const types = new Map<string, Computed>();
  for (const { key, value } of map.entries) {
    const type = assignedType(analysis, value, scope);
    if (type !== undefined) types.set(key, type);
    else types.delete(key);
  }
  if (types.size === 0) return {};
  return { entryTypes: [...types].map(([key, type]) => ({ key, type })) };
}

/**
 * As `assignedEntryTypes` for the columns of rows that are copied: where the records must be asked, the rows of the plan carry
 * the answers.
 */
export function copiedColumnTypes(
  analysis: Analysis,
  plan: LogicalPlan,
  row: Row,
): { readonly plan: LogicalPlan; readonly entryTypes: EntryTypes } {
  const entryTypes: { readonly key: string; readonly type: Computed }[] = [];
  if (row.kind !== 'columns') return { plan, entryTypes };
  const types = analysis.valueTypes(plan);
  const answers = new Answers(analysis);
  for (const [key, slot] of row.columns) {
    const known = types.of({ op: 'Slot', slot });
    const type = known?.kind === 'asked' ? answers.to(known) : widthExpression(known);
    if (type !== undefined) entryTypes.push({ key, type });
  }
  const { columns } = answers;
  if (columns.length === 0) return { plan, entryTypes };
  return { plan: { op: 'Project', input: plan, columns }, entryTypes };
}

/** What records are asked for a row, and where the answers stand. */
class Answers {
  readonly columns: { readonly slot: Slot; readonly value: Computed }[] = [];
  readonly #analysis: Analysis;
  /** Of records that are asked for all their widths at once. */
  readonly #widths = new Map<Slot, Slot>();

  constructor(analysis: Analysis) {
    this.#analysis = analysis;
  }

  to(known: KnownType & { readonly kind: 'asked' }): Computed {
    const [only] = known.of;
    if (only?.isUndeclared === true && only.holder.op === 'Slot' && !known.isSum)
      return {
        op: 'Property',
        of: { op: 'Slot', slot: this.#widthsOf(only.holder.slot) },
        name: only.name,
        dialect: 'sql',
      };
    return { op: 'Slot', slot: this.#add(typeExpression(known)) };
  }

  #widthsOf(record: Slot): Slot {
    const known = this.#widths.get(record);
    if (known !== undefined) return known;
    const holder: Computed = { op: 'Slot', slot: record };
    const slot = this.#add({ op: 'Call', function: widthsFunction, arguments: [holder] });
    this.#widths.set(record, slot);
    return slot;
  }

  #add(value: Computed): Slot {
    const slot = this.#analysis.slots.next();
    this.columns.push({ slot, value });
    return slot;
  }
}

function widthExpression(known: KnownType | undefined): Computed | undefined {
  if (known === undefined || (known.kind === 'told' && !isIntegerWidth(known.type)))
    return undefined;
  return typeExpression(known);
}

/** The plan as far as it is made, in whose rows names are looked up. */
function planAround(scope: Scope): LogicalPlan {
  let current = scope;
  while (current.kind === 'element') current = current.parent;
  return current.body;
}
