import { filterLong, madeOnce, mapLong } from '#core/replayed-loops.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type { Pattern } from '../algebra/plan.ts';
import { pathSlots } from '../algebra/slots-written.ts';
import { slotsRead } from '../algebra/slots.ts';
import { conjunctsOf } from '../algebra/walk.ts';

/** A condition of a pattern with what it reads, which each move asks for again. */
export interface Condition {
  readonly expression: Expression;
  readonly slots: ReadonlySet<Slot>;
  /** Its place among all. */
  readonly at: number;
}

export function expressionOf({ expression }: Condition): Expression {
  return expression;
}

export function expressionsOf(conditions: readonly Condition[]): readonly Expression[] {
  return madeOnce(() => conditions.map(expressionOf), conditions.length);
}

/** The conditions on the nodes of a pattern, but those of optional steps; there may be fifty thousand of them. */
export class PatternConditions {
  readonly all: readonly Condition[];
  readonly #ofSlot: ReadonlyMap<Slot, readonly Condition[]>;
  readonly #patternSlots: ReadonlySet<Slot>;

  constructor({ nodes, steps }: Pattern) {
    const optionalEnds = new Set(steps.filter((step) => step.optional).map((step) => step.to));
    const predicates = nodes
      .filter((node) => !optionalEnds.has(node.slot))
      .map((node) => node.predicates);
    const expressions = madeOnce(
      () => predicates.flatMap((ofNode) => ofNode.flatMap(conjunctsOf)),
      predicates.reduce((count, ofNode) => count + ofNode.length, 0),
    );
    this.all = conditionsOf(expressions);
    this.#ofSlot = madeOnce(() => bySlot(this.all), this.all.length);
    this.#patternSlots = new Set([
      ...nodes.map((node) => node.slot),
      ...steps.flatMap(({ edge, path }) => [
        ...(edge === undefined ? [] : [edge]),
        ...(path === undefined ? [] : pathSlots(path)),
      ]),
    ]);
  }

  /** Those that read the slot. */
  of(slot: Slot): readonly Condition[] {
    return this.#ofSlot.get(slot) ?? none;
  }

  /** Those that waited for one of these slots, the last that they read. */
  readyWith(fresh: readonly Slot[], bound: ReadonlySet<Slot>): readonly Condition[] {
    const lists = fresh.map((slot) => this.of(slot)).filter((list) => list.length > 0);
    const [first = none, ...others] = lists;
    const candidates =
      others.length === 0
        ? first
        : [...new Set([first, ...others].flat())].sort((a, b) => a.at - b.at);
    return filterLong(candidates, (condition) => this.isReady(condition, bound));
  }

  /** Everything of the pattern that the condition reads is bound, or is about to be. */
  isReady({ slots }: Condition, bound: ReadonlySet<Slot>, next?: Slot): boolean {
    for (const slot of slots)
      if (slot !== next && !bound.has(slot) && this.#patternSlots.has(slot)) return false;
    return true;
  }

  /** The other slots of the pattern that conditions on this one read and that are not bound. */
  slotsBeside(slot: Slot, bound: ReadonlySet<Slot>): ReadonlySet<Slot> {
    const conditions = this.of(slot);
    return madeOnce(() => {
      const beside = new Set<Slot>();
      for (const { slots } of conditions)
        for (const other of slots)
          if (other !== slot && !bound.has(other) && this.#patternSlots.has(other))
            beside.add(other);
      return beside;
    }, conditions.length);
  }
}

const none: readonly Condition[] = [];

function conditionsOf(expressions: readonly Expression[]): readonly Condition[] {
  const single = new Map<Slot, ReadonlySet<Slot>>();
  return mapLong(expressions, (expression, at) => {
    const read = slotsRead(expression);
    const [first] = read;
    if (read.size !== 1 || first === undefined) return { expression, slots: read, at };
    // Work that begins anew forgets them, which costs a set for each stretch.
    const known = single.get(first) ?? read;
    single.set(first, known);
    return { expression, slots: known, at };
  });
}

function bySlot(conditions: readonly Condition[]): ReadonlyMap<Slot, readonly Condition[]> {
  const lists = new Map<Slot, Condition[]>();
  for (const condition of conditions)
    for (const slot of condition.slots) {
      const known = lists.get(slot);
      if (known === undefined) lists.set(slot, [condition]);
      else known.push(condition);
    }
  return lists;
}
