import type { Catalog } from '#catalog/catalog.ts';
import { type SchemaTypeName, schemaTypeNamed } from '#core/value/conversion.ts';
import { isBeyondInt32 } from '#core/value/integer-width.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import { inputsOf } from '../algebra/plan-walk.ts';
import { slotsWrittenBy } from '../algebra/slots-written.ts';
import type { LogicalPlan } from '../algebra/plan.ts';
import { slotsRead } from '../algebra/slots.ts';

// What plans and expressions tell about types that values do not show: 5 may be a LONG, a list an array of floats (sql.md 2.2).
// Either the text and the schema tell it, or the record must be asked that a property is read from, when the row is there.

/** What is known of the type of a value beside the value. */
export type KnownType =
  | { readonly kind: 'told'; readonly type: SchemaTypeName }
  | {
      readonly kind: 'asked';
      readonly of: readonly AskedProperty[];
      /** A number computed from these: a LONG when one of them is. */
      readonly isSum: boolean;
    };

export interface AskedProperty {
  readonly holder: Expression;
  readonly name: string;
  /** None of the types that are read declares it: only the record can tell. */
  readonly isUndeclared: boolean;
}

/** Expressions that are looked at before it is given up: sums may be deep, and name one slot on both sides. */
const looksMax = 1_000;

/** What is known of the values that expressions above a plan have. */
export class ValueTypes {
  readonly #plan: LogicalPlan;
  readonly #catalog: Catalog;
  /** Made when the first slot is met. */
  #definitions: Definitions | undefined;
  #visible: ReadonlySet<Slot> | undefined;
  #looksLeft = 0;

  constructor(plan: LogicalPlan, catalog: Catalog) {
    this.#plan = plan;
    this.#catalog = catalog;
  }

  of(value: Expression): KnownType | undefined {
    this.#looksLeft = looksMax;
    return this.#of(value);
  }

  #of(value: Expression): KnownType | undefined {
    if (this.#looksLeft <= 0) return undefined;
    this.#looksLeft -= 1;
    switch (value.op) {
      case 'Constant':
        return value.width === 'LONG' || isBeyondInt32(value.value) ? long : undefined;
      case 'Slot':
        return this.#ofSlot(value.slot);
      case 'Property':
        return this.#ofProperty(value);
      case 'Negate':
      case 'Arithmetic':
        return this.#ofSum(value);
      case 'Call':
        return this.#ofCall(value);
      case 'Coalesce':
        return this.#agreed(value.operands);
      case 'Case':
        return this.#agreed([
          ...value.branches.map(({ then }) => then),
          ...(value.otherwise === undefined ? [] : [value.otherwise]),
        ]);
      default:
        return undefined;
    }
  }

  #ofSlot(slot: Slot): KnownType | undefined {
    const { values, longs } = this.#defined();
    if (longs.has(slot)) return long;
    const meant = values.get(slot);
    if (meant === undefined) return undefined;
    // A slot that is computed from itself would never come to an end.
    values.delete(slot);
    const known = this.#of(meant);
    values.set(slot, meant);
    return known?.kind === 'asked' && !this.#isVisible(known) ? undefined : known;
  }

  /** Whether the records to ask still stand in the rows above the plan. */
  #isVisible(known: KnownType & { readonly kind: 'asked' }): boolean {
    this.#visible ??= visibleSlots(this.#plan);
    const visible = this.#visible;
    return known.of.every(({ holder }) =>
      [...slotsRead(holder)].every((slot) => visible.has(slot)),
    );
  }

  #ofProperty({ of, name }: Expression & { readonly op: 'Property' }): KnownType | undefined {
    const types = of.op === 'Slot' ? (this.#defined().types.get(of.slot) ?? []) : [];
    const declared = types.map((type) => this.#catalog.property(type, name)?.type);
    const [first] = declared;
    if (first !== undefined && first !== 'ANY' && declared.every((type) => type === first))
      return { kind: 'told', type: first };
    if (!isPlainPath(of)) return undefined;
    const isUndeclared = types.length > 0 && declared.every((type) => type === undefined);
    return { kind: 'asked', of: [{ holder: of, name, isUndeclared }], isSum: false };
  }

  /** Shifts and operators on bits work on 64 bits (sql.md 5.3); the others widen to the widest operand. */
  #ofSum(value: Expression): KnownType | undefined {
    const asked: AskedProperty[] = [];
    const waiting = [value];
    for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
      if (this.#looksLeft <= 0) return undefined;
      this.#looksLeft -= 1;
      if (part.op === 'Negate') waiting.push(part.operand);
      else if (part.op === 'Arithmetic') {
        if (!'+-*/%'.includes(part.operator)) return long;
        waiting.push(part.left, part.right);
      } else {
        const known = this.#of(part);
        if (known?.kind === 'told' && known.type === 'LONG') return long;
        if (known?.kind === 'asked')
          for (const one of known.of)
            if (!asked.some((other) => isSame(one, other))) asked.push(one);
      }
    }
    return asked.length === 0 ? undefined : { kind: 'asked', of: asked, isSum: true };
  }

  #ofCall(call: Expression & { readonly op: 'Call' }): KnownType | undefined {
    const [first, second] = call.arguments;
    const converted = conversions.get(call.function);
    if (converted !== undefined) return { kind: 'told', type: converted };
    if (call.function === '.convert' && second?.op === 'Constant') {
      const type = schemaTypeNamed(String(second.value));
      return type && { kind: 'told', type };
    }
    return call.function === 'abs' && first !== undefined ? this.#of(first) : undefined;
  }

  /** What all of them are told to be; nulls are of any type. */
  #agreed(values: readonly (Expression | undefined)[]): KnownType | undefined {
    let agreed: KnownType | undefined;
    for (const value of values) {
      if (value?.op === 'Constant' && value.value === null) continue;
      const known = value && this.#of(value);
      if (known?.kind !== 'told') return undefined;
      if (agreed?.kind === 'told' && agreed.type !== known.type) return undefined;
      agreed = known;
    }
    return agreed;
  }

  #defined(): Definitions {
    this.#definitions ??= this.#gather();
    return this.#definitions;
  }

  #gather(): Definitions {
    const defined: Definitions = {
      values: new Map(),
      types: new Map(),
      longs: new Set(),
    };
    this.#definitions = defined;
    const plans = [this.#plan];
    for (const plan of plans) plans.push(...inputsOf(plan));
    // Sources first, since sums ask for the types of what they add up.
    for (const plan of plans.reverse()) this.#define(plan, defined);
    return defined;
  }

  #define(plan: LogicalPlan, { values, types, longs }: Definitions): void {
    switch (plan.op) {
      case 'TypeScan':
        types.set(plan.as, plan.types);
        return;
      case 'Project':
        for (const { slot, value } of plan.columns) values.set(slot, value);
        return;
      case 'Aggregate':
        for (const { slot, value } of [...plan.keys, ...plan.first]) values.set(slot, value);
        for (const aggregate of plan.aggregates) {
          const [only] = aggregate.arguments;
          const name = aggregate.function.toLowerCase();
          if (name.startsWith('count')) longs.add(aggregate.slot);
          if (only === undefined) continue;
          if (name === 'min' || name === 'max') values.set(aggregate.slot, only);
          // Sums of narrower numbers leave their type.
          this.#looksLeft = looksMax;
          if (name === 'sum' && isLong(this.#of(only))) longs.add(aggregate.slot);
        }
        return;
      default:
    }
  }
}

/** What the nodes of a plan put into slots. */
interface Definitions {
  readonly values: Map<Slot, Expression>;
  readonly types: Map<Slot, readonly TypeId[]>;
  readonly longs: Set<Slot>;
}

function isSame(a: AskedProperty, b: AskedProperty): boolean {
  return a.name === b.name && isSameHolder(a, b);
}

function isSameHolder({ holder: a }: AskedProperty, { holder: b }: AskedProperty): boolean {
  return a.op === 'Slot' && b.op === 'Slot' && a.slot === b.slot;
}

const long: KnownType = { kind: 'told', type: 'LONG' };

function isLong(known: KnownType | undefined): boolean {
  return known?.kind === 'told' && known.type === 'LONG';
}

const conversions: ReadonlyMap<string, SchemaTypeName> = new Map([
  ['.asLong', 'LONG'],
  ['.asShort', 'SHORT'],
  ['.asByte', 'BYTE'],
]);

/** Whether it may be computed twice: it calls nothing. */
function isPlainPath(value: Expression): boolean {
  let at = value;
  while (at.op === 'Property') at = at.of;
  return at.op === 'Slot' || at.op === 'Parameter' || at.op === 'Variable';
}

/** Slots that stand in the rows of a plan, as far as its nodes pass on the rows of their inputs. */
function visibleSlots(plan: LogicalPlan): ReadonlySet<Slot> {
  const visible = new Set<Slot>();
  for (let node: LogicalPlan | undefined = plan; node !== undefined; ) {
    for (const slot of slotsWrittenBy(node)) visible.add(slot);
    node = passing.has(node.op) ? inputsOf(node)[0] : undefined;
  }
  return visible;
}

const passing: ReadonlySet<LogicalPlan['op']> = new Set<LogicalPlan['op']>([
  'Project',
  'Filter',
  'Sort',
  'Skip',
  'Limit',
  'TimeLimit',
  'Eager',
  'Unwind',
]);

/** Names of the functions that ask records for the types of their properties. */
export const askedTypeFunction = '#typeIn';
export const askedSumFunction = '#typeOfSum';
/** The same of one record where nothing is declared; of a sum the names are a list. */
export const askedWidthFunction = '#widthIn';
export const askedWidthSumFunction = '#widthOfSum';
/** The widths of all properties of a record as a map, or null. */
export const widthsFunction = '#widths';

/** The expression of the name of a type, null when there is no more to say than the value does. */
export function typeExpression(known: KnownType): Expression {
  if (known.kind === 'told') return { op: 'Constant', value: known.type };
  const [first] = known.of;
  if (
    first !== undefined &&
    known.of.every((one) => one.isUndeclared && isSameHolder(one, first))
  ) {
    const names = known.of.map((one) => one.name);
    const value = known.isSum ? names : first.name;
    const name = known.isSum ? askedWidthSumFunction : askedWidthFunction;
    return { op: 'Call', function: name, arguments: [first.holder, { op: 'Constant', value }] };
  }
  const asked = known.of.flatMap(({ holder, name }): Expression[] => [
    holder,
    { op: 'Constant', value: name },
  ]);
  const name = known.isSum ? askedSumFunction : askedTypeFunction;
  return { op: 'Call', function: name, arguments: asked };
}
