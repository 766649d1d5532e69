import type { PausingWork } from '#core/pausing-work.ts';
import { stepped } from '#core/replayed-loops.ts';
import type { Expression as Expr, ExpressionOf as ExprOf } from '../ast.ts';
import { isAggregate } from './call.ts';

/** The parts of an expression; queries and patterns inside are not looked into. */
export function* partsOf(expr: Expr): Generator<Expr> {
  const waiting: Expr[] = [expr];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    yield part;
    for (const operand of operandsOf(part)) waiting.push(operand);
  }
}

/** Of an expression, that are looked at whenever it is asked; of a longer one all are, once and with pauses. */
const fewParts = 64;
const partsPerStep = 1_000;
const branchesPerStep = 4_096;

export function holdsAggregate(expr: Expr): boolean {
  const waiting: Expr[] = [expr];
  for (let count = 0; count < fewParts; count += 1) {
    const part = waiting.pop();
    if (part === undefined) return false;
    if (isAggregate(part)) return true;
    if (part.kind === 'case' && part.branches.length > fewParts) break;
    const operands = operandsOf(part);
    if (operands.length > fewParts) break;
    for (let at = 0; at < operands.length; at += 1) waiting.push(operands[at] as Expr);
  }
  return stepped(() => searchForAggregate(expr));
}

function* searchForAggregate(expr: Expr): PausingWork<boolean> {
  const waiting: Expr[] = [expr];
  let count = 0;
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (isAggregate(part)) return true;
    if (part.kind === 'case' && part.branches.length > branchesPerStep)
      yield* pushCase(part, waiting);
    else for (const operand of operandsOf(part)) waiting.push(operand);
    count += 1;
    if (count % partsPerStep === 0) yield;
  }
  return false;
}

/** The operands of a long CASE, each of which must be looked for in its branch. */
function* pushCase(
  { subject, branches, otherwise }: ExprOf<'case'>,
  waiting: Expr[],
): PausingWork<void> {
  if (subject) waiting.push(subject);
  for (let at = 0; at < branches.length; at += 1) {
    const { when, then } = branches[at] as (typeof branches)[number];
    waiting.push(when, then);
    if (at % branchesPerStep === branchesPerStep - 1) yield;
  }
  if (otherwise) waiting.push(otherwise);
}

function operandsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'property':
      return [expr.of];
    case 'index':
      return [expr.of, expr.key];
    case 'slice':
      return [expr.of, expr.low, expr.high].filter((part) => part !== undefined);
    case 'call':
      return expr.args;
    case 'list':
      return expr.items;
    case 'map':
    case 'case':
      return operandsOfMany(expr);
    case 'projection':
      return [
        expr.of,
        ...expr.items.flatMap((item) => (item.kind === 'entry' ? [item.value] : [])),
      ];
    case 'sign':
    case 'not':
    case 'isNull':
    case 'isTyped':
      return [expr.operand];
    case 'and':
    case 'or':
    case 'xor':
      return expr.operands;
    case 'matches':
    case 'textTest':
      return [expr.left, expr.right];
    case 'in':
      return [expr.element, expr.list];
    case 'chain':
    case 'comparison':
      return expr.operands;
    case 'hasLabels':
      return [expr.of];
    case 'comprehension':
      return [expr.list, expr.where, expr.result].filter((part) => part !== undefined);
    case 'quantifier':
      return expr.where ? [expr.list, expr.where] : [expr.list];
    case 'reduce':
      return [expr.initial, expr.list, expr.step];
    default:
      return [];
  }
}

/** Of long ones, which are asked for again and again. */
const knownOperands = new WeakMap<Expr, readonly Expr[]>();

function operandsOfMany(expr: ExprOf<'map'> | ExprOf<'case'>): readonly Expr[] {
  const isLong = (expr.kind === 'map' ? expr.entries : expr.branches).length > fewParts;
  const known = isLong ? knownOperands.get(expr) : undefined;
  if (known !== undefined) return known;
  const operands: Expr[] = [];
  if (expr.kind === 'map') for (const { value } of expr.entries) operands.push(value);
  else {
    if (expr.subject) operands.push(expr.subject);
    for (const { when, then } of expr.branches) operands.push(when, then);
    if (expr.otherwise) operands.push(expr.otherwise);
  }
  if (isLong) knownOperands.set(expr, operands);
  return operands;
}
