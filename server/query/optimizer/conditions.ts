import type { PausingWork } from '#core/pausing-work.ts';
import { madeOnce, mapLong, mapLongOver } from '#core/replayed-loops.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type { Pattern } from '../algebra/plan.ts';
import { pathSlots } from '../algebra/slots-written.ts';
import { slotsRead } from '../algebra/slots.ts';
import { conjunctsOf } from '../algebra/walk.ts';

/** A condition of a pattern with what it reads. */
export interface Condition {
  readonly expression: Expression;
  readonly slots: ReadonlySet<Slot>;
  /** Slots of the pattern among them. */
  readonly slotCount: number;
  /** Its place among all. */
  readonly at: number;
}

export function expressionsOf(conditions: readonly Condition[]): readonly Expression[] {
  return conditions.map(expressionOf);
}

function expressionOf({ expression }: Condition): Expression {
  return expression;
}

/** In the order in which they stand. */
export function inOrder(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.length < 2 ? conditions : [...conditions].sort(byPlace);
}

function byPlace(a: Condition, b: Condition): number {
  return a.at - b.at;
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
    this.#patternSlots = new Set([
      ...nodes.map((node) => node.slot),
      ...steps.flatMap(({ edge, path }) => [
        ...(edge === undefined ? [] : [edge]),
        ...(path === undefined ? [] : pathSlots(path)),
      ]),
    ]);
    this.all = conditionsOf(expressions, this.#patternSlots);
    this.#ofSlot = bySlot(this.all);
  }

  /** Those that read the slot. */
  of(slot: Slot): readonly Condition[] {
    return this.#ofSlot.get(slot) ?? none;
  }

  /** Those that read nothing of the pattern. */
  get ofNone(): readonly Condition[] {
    return this.all.filter(({ slotCount }) => slotCount === 0);
  }

  hasSlot(slot: Slot): boolean {
    return this.#patternSlots.has(slot);
  }
}

const none: readonly Condition[] = [];

/** Conditions that are looked at between two pauses. */
export const conditionsPerPause = 8_192;

function conditionsOf(
  expressions: readonly Expression[],
  patternSlots: ReadonlySet<Slot>,
): readonly Condition[] {
  const single = new Map<Slot, ReadonlySet<Slot>>();
  return mapLong(expressions, (expression, at) => {
    const read = slotsRead(expression);
    let slotCount = 0;
    for (const slot of read) if (patternSlots.has(slot)) slotCount += 1;
    const [first] = read;
    if (read.size !== 1 || first === undefined) return { expression, slots: read, slotCount, at };
    // Work that begins anew forgets them, which costs a set for each stretch.
    const known = single.get(first) ?? read;
    single.set(first, known);
    return { expression, slots: known, slotCount, at };
  });
}

function bySlot(conditions: readonly Condition[]): ReadonlyMap<Slot, readonly Condition[]> {
  const { state } = mapLongOver(
    conditions,
    () => new Map<Slot, Condition[]>(),
    (condition, lists) => {
      for (const slot of condition.slots) {
        const known = lists.get(slot);
        if (known === undefined) lists.set(slot, [condition]);
        else known.push(condition);
      }
    },
  );
  return state;
}

/** Which slots of a pattern are bound, and what its conditions wait for: each is looked at once for each slot that it reads. */
export class BoundSlots {
  readonly #conditions: PatternConditions;
  readonly #bound: Set<Slot>;
  /** Slots that each condition still waits for. */
  readonly #left: number[];
  /** Conditions that read something bound and one slot that is not. */
  readonly #tied: Map<Slot, Condition[]>;

  private constructor(
    conditions: PatternConditions,
    bound: Set<Slot>,
    left: number[],
    tied: Map<Slot, Condition[]>,
  ) {
    this.#conditions = conditions;
    this.#bound = bound;
    this.#left = left;
    this.#tied = tied;
  }

  static none(conditions: PatternConditions): BoundSlots {
    const left = conditions.all.map(({ slotCount }) => slotCount);
    return new BoundSlots(conditions, new Set(), left, new Map());
  }

  copy(): BoundSlots {
    const tied = new Map<Slot, Condition[]>();
    for (const [slot, conditions] of this.#tied) tied.set(slot, [...conditions]);
    return new BoundSlots(this.#conditions, new Set(this.#bound), [...this.#left], tied);
  }

  get size(): number {
    return this.#bound.size;
  }

  has(slot: Slot): boolean {
    return this.#bound.has(slot);
  }

  /** Conditions that wait for this slot only and read bound ones; in no order, and never fewer as long as it is not bound. */
  tiedTo(slot: Slot): readonly Condition[] {
    return this.#tied.get(slot) ?? none;
  }

  /** @returns conditions that waited for these slots only, in the order in which they stand */
  *bind(slots: readonly (Slot | undefined)[]): PausingWork<readonly Condition[]> {
    const ready: Condition[] = [];
    let boundCount = 0;
    for (const slot of slots) {
      if (slot === undefined || this.#bound.has(slot)) continue;
      boundCount += 1;
      this.#bound.add(slot);
      this.#tied.delete(slot);
      if (!this.#conditions.hasSlot(slot)) continue;
      const conditions = this.#conditions.of(slot);
      for (let at = 0; at < conditions.length; at += 1) {
        if (at % conditionsPerPause === conditionsPerPause - 1) yield;
        const condition = conditions[at] as Condition;
        const left = (this.#left[condition.at] as number) - 1;
        this.#left[condition.at] = left;
        if (left === 0) ready.push(condition);
        else if (left === 1) this.#tie(condition);
      }
    }
    return boundCount > 1 ? inOrder(ready) : ready;
  }

  #tie(condition: Condition): void {
    for (const slot of condition.slots) {
      if (this.#bound.has(slot) || !this.#conditions.hasSlot(slot)) continue;
      const known = this.#tied.get(slot);
      if (known === undefined) this.#tied.set(slot, [condition]);
      else known.push(condition);
      return;
    }
  }
}
