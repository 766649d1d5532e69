import { unreachable } from '#core/assert.ts';
import { madeOnce, mapLong, smallSteps, someLong } from '#core/replayed-loops.ts';
import type { Expression, NestedItem, Output, Slot } from './expression.ts';

/**
 * Traversal and rewriting of expressions. Everything here is iterative: a text of four megabytes may hold a left-deep chain of
 * a million operators, which must cost memory in the heap and not on the call stack.
 *
 * `plan-walk.ts` does the same for plans.
 */

const none: readonly never[] = [];

/** The direct operands, in evaluation order; the plan of a `SubPlan` is not among them. */
export function operandsOf(expression: Expression): readonly Expression[] {
  switch (expression.op) {
    case 'Constant':
    case 'Parameter':
    case 'Slot':
    case 'Variable':
    case 'SubPlan':
      return none;
    case 'Property':
    case 'Attribute':
    case 'IsDefined':
      return [expression.of];
    case 'Call':
      return expression.arguments;
    case 'Negate':
    case 'Not':
    case 'IsNull':
    case 'Truth':
    case 'IsOfType':
      return [expression.operand];
    case 'Arithmetic':
    case 'Compare':
    case 'StrictEquals':
      return [expression.left, expression.right];
    case 'Concatenate':
    case 'Coalesce':
    case 'And':
    case 'Or':
    case 'Xor':
      return expression.operands;
    case 'In':
      return [expression.element, expression.list];
    case 'Between':
      return [expression.operand, expression.low, expression.high];
    case 'Like':
    case 'Matches':
      return [expression.text, expression.pattern];
    case 'TextPart':
      return [expression.text, expression.part];
    case 'Contains':
      return [expression.collection, expression.value];
    case 'Quantifier':
      return [expression.list, expression.predicate];
    case 'Comprehension':
      return defined([expression.list, expression.predicate, expression.result]);
    case 'Reduce':
      return [expression.list, expression.initial, expression.step];
    case 'Case':
      return caseOperands(expression);
    case 'List':
      return expression.items;
    case 'Map':
      return mapOperands(expression);
    case 'Element':
      return [expression.of, ...expression.keys];
    case 'Slice':
      return defined([expression.of, expression.low, expression.high]);
    case 'NestedProjection':
      return [expression.of, ...includedValues(expression.items)];
    case 'SingleValue':
    case 'UnwrapRows':
      return [expression.rows];
    default:
      return unreachable(expression);
  }
}

/** The same expression over other operands, given in the order of `operandsOf`. */
export function withOperands(expression: Expression, operands: readonly Expression[]): Expression {
  const source = new OperandSource(operands);
  switch (expression.op) {
    case 'Constant':
    case 'Parameter':
    case 'Slot':
    case 'Variable':
    case 'SubPlan':
      return expression;
    case 'Property':
    case 'Attribute':
    case 'IsDefined':
      return { ...expression, of: source.next() };
    case 'Call':
      return { ...expression, arguments: operands };
    case 'Negate':
    case 'Not':
    case 'IsNull':
    case 'Truth':
    case 'IsOfType':
      return { ...expression, operand: source.next() };
    case 'Arithmetic':
    case 'Compare':
    case 'StrictEquals':
      return { ...expression, left: source.next(), right: source.next() };
    case 'Concatenate':
    case 'Coalesce':
    case 'And':
    case 'Or':
    case 'Xor':
      return { ...expression, operands };
    case 'In':
      return { ...expression, element: source.next(), list: source.next() };
    case 'Between':
      return { ...expression, operand: source.next(), low: source.next(), high: source.next() };
    case 'Like':
    case 'Matches':
      return { ...expression, text: source.next(), pattern: source.next() };
    case 'TextPart':
      return { ...expression, text: source.next(), part: source.next() };
    case 'Contains':
      return { ...expression, collection: source.next(), value: source.next() };
    default:
      return withCollectionOperands(expression, operands, source);
  }
}

type SimpleOp =
  | 'Constant'
  | 'Parameter'
  | 'Slot'
  | 'Variable'
  | 'SubPlan'
  | 'Property'
  | 'Attribute'
  | 'IsDefined'
  | 'Call'
  | 'Negate'
  | 'Not'
  | 'IsNull'
  | 'Truth'
  | 'IsOfType'
  | 'Arithmetic'
  | 'Compare'
  | 'StrictEquals'
  | 'Concatenate'
  | 'Coalesce'
  | 'And'
  | 'Or'
  | 'Xor'
  | 'In'
  | 'Between'
  | 'Like'
  | 'Matches'
  | 'TextPart'
  | 'Contains';

function withCollectionOperands(
  expression: Exclude<Expression, { readonly op: SimpleOp }>,
  operands: readonly Expression[],
  source: OperandSource,
): Expression {
  switch (expression.op) {
    case 'Quantifier':
      return { ...expression, list: source.next(), predicate: source.next() };
    case 'Comprehension':
      return {
        ...expression,
        list: source.next(),
        ...(expression.predicate && { predicate: source.next() }),
        ...(expression.result && { result: source.next() }),
      };
    case 'Reduce':
      return {
        ...expression,
        list: source.next(),
        initial: source.next(),
        step: source.next(),
      };
    case 'Case':
      return {
        ...expression,
        // biome-ignore lint/suspicious/noThenProperty: a branch of CASE is never awaited
        branches: expression.branches.map(() => ({ when: source.next(), then: source.next() })),
        otherwise: expression.otherwise && source.next(),
      };
    case 'List':
      return { ...expression, items: operands };
    case 'Map':
      return {
        ...expression,
        entries: expression.entries.map((entry) => ({ key: entry.key, value: source.next() })),
      };
    case 'Element':
      return { ...expression, of: source.next(), keys: operands.slice(1) };
    case 'Slice':
      return {
        ...expression,
        of: source.next(),
        low: expression.low && source.next(),
        high: expression.high && source.next(),
      };
    case 'NestedProjection':
      return {
        ...expression,
        of: source.next(),
        items: expression.items.map((item) =>
          item.kind === 'include' || item.kind === 'merge'
            ? { ...item, value: source.next() }
            : item,
        ),
      };
    case 'SingleValue':
    case 'UnwrapRows':
      return { ...expression, rows: source.next() };
    default:
      return unreachable(expression);
  }
}

class OperandSource {
  readonly #operands: readonly Expression[];
  #position = 0;
  constructor(operands: readonly Expression[]) {
    this.#operands = operands;
  }

  next(): Expression {
    const operand = this.#operands[this.#position];
    if (operand === undefined) throw new RangeError('fewer operands than the expression has');
    this.#position += 1;
    return operand;
  }
}

/** Of long CASEs and maps, each walk asks for them, some many times. */
const knownOperands = new WeakMap<Expression, readonly Expression[]>();

function caseOperands(expression: Expression & { readonly op: 'Case' }): readonly Expression[] {
  const { branches, otherwise } = expression;
  const known = branches.length < longOperandCount ? undefined : knownOperands.get(expression);
  if (known !== undefined) return known;
  const operands: Expression[] = [];
  for (const branch of branches) operands.push(branch.when, branch.then);
  if (otherwise) operands.push(otherwise);
  if (branches.length >= longOperandCount) knownOperands.set(expression, operands);
  return operands;
}

function mapOperands(expression: Expression & { readonly op: 'Map' }): readonly Expression[] {
  const { entries } = expression;
  const known = entries.length < longOperandCount ? undefined : knownOperands.get(expression);
  if (known !== undefined) return known;
  const operands = entries.map((entry) => entry.value);
  if (entries.length >= longOperandCount) knownOperands.set(expression, operands);
  return operands;
}

function includedValues(items: readonly NestedItem[]): readonly Expression[] {
  const values: Expression[] = [];
  for (const item of items)
    if (item.kind === 'include' || item.kind === 'merge') values.push(item.value);
  return values;
}

function defined(operands: readonly (Expression | undefined)[]): readonly Expression[] {
  return operands.filter((operand) => operand !== undefined);
}

/** Visits the expression and everything below it, parents first; plans of sub-plans are left to the visitor. */
export function walkExpression(
  expression: Expression,
  visit: (expression: Expression) => void,
): void {
  visit(expression);
  const first = operandsOf(expression);
  if (first.length === 0) return;
  const waiting: Expression[] = [];
  pushReversed(waiting, first);
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    visit(current);
    const operands = operandsOf(current);
    if (operands.length > 0) pushReversed(waiting, operands);
  }
}

/**
 * How many parts the expression consists of, those of sub-plans left out: what evaluating it costs about. Counting ends above
 * `countMax`.
 */
export function partCountOf(expression: Expression, countMax: number): number {
  let count = 1;
  let operands = operandsOf(expression);
  const waiting: (readonly Expression[])[] = [];
  for (;;) {
    count += operands.length;
    if (count > countMax) return count;
    for (let at = 0; at < operands.length; at += 1) {
      const inner = operandsOf(operands[at] as Expression);
      if (inner.length > 0) waiting.push(inner);
    }
    const next = waiting.pop();
    if (next === undefined) return count;
    operands = next;
  }
}

/** The last first, so that they are taken from the end in their order. */
export function pushReversed<T>(waiting: T[], operands: readonly T[]): void {
  for (let at = operands.length - 1; at >= 0; at -= 1) {
    const operand = operands[at];
    if (operand !== undefined) waiting.push(operand);
  }
}

interface PendingRewrite {
  readonly expression: Expression;
  readonly operands: readonly Expression[];
  /** Operands that are rewritten already. */
  count: number;
  /** All operands, as far as they are rewritten; undefined while none has changed. */
  rewritten: Expression[] | undefined;
}

/** Those of fewer operands are gone through without a pause. */
export const longOperandCount = 64;

/**
 * Rebuilds the expression from its leaves up: `rewrite` sees each node with its operands already rewritten. Parts that do not
 * change keep their identity.
 */
export function rewriteExpression(
  expression: Expression,
  rewrite: (expression: Expression) => Expression,
): Expression {
  return rewritten(expression, rewrite, undefined);
}

/**
 * As `rewriteExpression`, for a `rewrite` that does nothing but give the part: in work that is done in stretches
 * (`#core/replayed-loops.ts`) long lists of operands and deep chains are places to pause.
 */
export function mapExpression(
  expression: Expression,
  rewrite: (expression: Expression) => Expression,
): Expression {
  const ofLong = (part: Expression, operands: readonly Expression[]): Expression => {
    const mapped = mapLong(operands, (operand) => mapExpression(operand, rewrite));
    const isSame = sameItems(mapped, operands);
    return rewrite(isSame ? part : withOperands(part, mapped));
  };
  return rewritten(expression, rewrite, ofLong);
}

function sameItems<T>(items: readonly T[], others: readonly T[]): boolean {
  for (let at = 0; at < items.length; at += 1) if (items[at] !== others[at]) return false;
  return true;
}

/** @param ofLong rewrites those with many operands; undefined: as the others */
function rewritten(
  expression: Expression,
  rewrite: (expression: Expression) => Expression,
  ofLong: ((part: Expression, operands: readonly Expression[]) => Expression) | undefined,
): Expression {
  const operands = operandsOf(expression);
  if (operands.length === 0) return rewrite(expression);
  if (operands.length >= longOperandCount && ofLong) return ofLong(expression, operands);
  const rewriting: Rewriting = {
    top: { expression, operands, count: 0, rewritten: undefined },
    above: [],
    result: undefined,
  };
  for (let count = 0; count < partsAtOnce || ofLong === undefined; count += 1) {
    goOnRewriting(rewriting, rewrite, ofLong);
    if (rewriting.result !== undefined) return rewriting.result;
  }
  const { result } = smallSteps(
    () => rewriting,
    (kept) => {
      goOnRewriting(kept, rewrite, ofLong);
      return kept.result !== undefined;
    },
  );
  return result as Expression;
}

/** Parts of a deep expression that are rewritten without a pause. */
const partsAtOnce = 256;

interface Rewriting {
  top: PendingRewrite;
  readonly above: PendingRewrite[];
  result: Expression | undefined;
}

/** By one part; `rewrite` may end it, before anything has changed. */
function goOnRewriting(
  rewriting: Rewriting,
  rewrite: (expression: Expression) => Expression,
  ofLong: ((part: Expression, operands: readonly Expression[]) => Expression) | undefined,
): void {
  const { top, above } = rewriting;
  const operand = top.operands[top.count];
  if (operand !== undefined) {
    const inner = operandsOf(operand);
    if (inner.length === 0) takeRewritten(top, operand, rewrite(operand));
    else if (inner.length >= longOperandCount && ofLong)
      takeRewritten(top, operand, ofLong(operand, inner));
    else {
      above.push(top);
      rewriting.top = { expression: operand, operands: inner, count: 0, rewritten: undefined };
    }
    return;
  }
  const rebuilt = top.rewritten ? withOperands(top.expression, top.rewritten) : top.expression;
  const result = rewrite(rebuilt);
  const parent = above.pop();
  if (parent === undefined) {
    rewriting.result = result;
    return;
  }
  takeRewritten(parent, top.expression, result);
  rewriting.top = parent;
}

function takeRewritten(parent: PendingRewrite, operand: Expression, result: Expression): void {
  if (result !== operand) parent.rewritten ??= parent.operands.slice();
  if (parent.rewritten !== undefined) parent.rewritten[parent.count] = result;
  parent.count += 1;
}

/** Slots that the expression itself binds for its parts (elements of lists, accumulators). */
export function slotsBoundBy(expression: Expression): readonly Slot[] {
  switch (expression.op) {
    case 'Quantifier':
    case 'Comprehension':
    case 'NestedProjection':
      return [expression.element];
    case 'Reduce':
      return [expression.accumulator, expression.element];
    default:
      return none;
  }
}

/** The slots that make up the rows of a plan. */
export function slotsOfOutput(output: Output): readonly Slot[] {
  return output.kind === 'value' ? [output.slot] : output.columns.map((column) => column.slot);
}

/** `a AND b AND c` as a list; anything else is a list of one. */
export function conjunctsOf(predicate: Expression): readonly Expression[] {
  if (predicate.op !== 'And') return [predicate];
  if (isFlat(predicate)) return predicate.operands;
  const conjuncts: Expression[] = [];
  const waiting: Expression[] = [predicate];
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    if (current.op !== 'And') {
      conjuncts.push(current);
      continue;
    }
    for (let at = current.operands.length - 1; at >= 0; at -= 1) {
      const operand = current.operands[at];
      if (operand !== undefined) waiting.push(operand);
    }
  }
  return conjuncts;
}

type Connective = Expression & { readonly op: 'And' | 'Or' };

/** Long ones that were found to hold no AND themselves: each rule asks, some of them many times. */
const flatConjunctions = new WeakSet<Expression>();

function isFlat(predicate: Connective): boolean {
  const { operands } = predicate;
  if (operands.length < longOperandCount) return !operands.some(isAnd);
  // The work around it may begin anew when it is known, and must come by the same loops.
  if (madeOnce(() => flatConjunctions.has(predicate))) return true;
  const isFound = !someLong(operands, isAnd);
  if (isFound) flatConjunctions.add(predicate);
  return isFound;
}

function isAnd({ op }: Expression): boolean {
  return op === 'And';
}

/** The inverse of `conjunctsOf`; undefined when there is nothing to check. */
export function conjunctionOf(conjuncts: readonly Expression[]): Expression | undefined {
  return conjuncts.length > 1 ? { op: 'And', operands: conjuncts } : conjuncts[0];
}
