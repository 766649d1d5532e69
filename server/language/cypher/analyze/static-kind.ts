import { smallSteps } from '#core/replayed-loops.ts';
import { isList, kindOf } from '#core/value/value.ts';
import type { Expression as Expr } from '../ast.ts';
import type { Compiler } from './compiler.ts';
import type { Scope, StaticKind } from './scope.ts';

export type { StaticKind };

export function staticKind(expr: Expr, scope: Scope): StaticKind {
  switch (expr.kind) {
    case 'literal':
      return literalKind(expr.value);
    case 'list':
    case 'comprehension':
    case 'patternComprehension':
      return 'list';
    case 'map':
      return 'map';
    case 'not':
    case 'and':
    case 'or':
    case 'xor':
    case 'comparison':
    case 'isNull':
    case 'isTyped':
    case 'in':
    case 'matches':
    case 'textTest':
    case 'hasLabels':
    case 'quantifier':
      return 'boolean';
    case 'pattern':
      if (expr.path.selector === undefined) return 'boolean';
      return expr.path.selector === 'shortest' ? 'path' : 'list';
    case 'sign':
      return staticKind(expr.operand, scope);
    case 'chain':
      return chainKind(expr.operands, scope);
    case 'variable':
      return bindingKind(expr.name, scope);
    default:
      return 'any';
  }
}

/** What all elements of a list are, where the text tells. */
export function elementKind(list: Expr, scope: Scope): StaticKind {
  const kinds = new Set<StaticKind>();
  if (list.kind === 'list') for (const item of list.items) kinds.add(staticKind(item, scope));
  else if (list.kind === 'literal' && isList(list.value))
    for (const item of list.value) kinds.add(literalKind(item));
  const [only = 'any'] = kinds;
  return kinds.size === 1 && only !== 'null' ? only : 'any';
}

/** Numbers stay numbers. */
function chainKind(operands: readonly Expr[], scope: Scope): StaticKind {
  let kind: StaticKind = 'integer';
  if (operands.length < manyOperands) {
    for (const operand of operands) kind = sumKind(kind, staticKind(operand, scope));
    return kind;
  }
  const sum = smallSteps(
    (): { at: number; kind: StaticKind } => ({ at: 0, kind: 'integer' }),
    (state) => {
      state.kind = sumKind(state.kind, staticKind(operands[state.at] as Expr, scope));
      state.at += 1;
      return state.at === operands.length || state.kind === 'any';
    },
  );
  return sum.kind;
}

/** Fewer are looked at without a pause. */
const manyOperands = 64;

function sumKind(left: StaticKind, right: StaticKind): StaticKind {
  if (right !== 'integer' && right !== 'float') return 'any';
  return left === 'integer' ? right : left;
}

function literalKind(value: Parameters<typeof kindOf>[0]): StaticKind {
  const kind = kindOf(value);
  if (kind === 'double') return 'float';
  return literalKinds.has(kind) ? (kind as StaticKind) : 'any';
}

const literalKinds: ReadonlySet<string> = new Set([
  'null',
  'boolean',
  'integer',
  'string',
  'list',
  'map',
]);

function bindingKind(name: string, scope: Scope): StaticKind {
  const binding = scope.get(name);
  const kind = binding?.kind;
  if (kind === undefined || kind === 'value') return binding?.type ?? 'any';
  return kind === 'relationships' ? 'list' : kind;
}

/**
 * @param type what the suite calls the failure
 * @throws DatabaseError `InvalidArgumentType` when the value is known to be of another kind; null may always stand, and a pattern,
 * which is no value at all, is refused as such by who compiles it
 */
export function requireKind(
  compiler: Compiler,
  expr: Expr,
  scope: Scope,
  allowed: readonly StaticKind[],
  what: string,
  type?: string,
): void {
  const kind = staticKind(expr, scope);
  if (kind === 'any' || kind === 'null' || allowed.includes(kind)) return;
  if (expr.kind === 'pattern' && kind === 'boolean') return;
  throw compiler.failure(
    'InvalidArgumentType',
    expr.at,
    `expected ${what}, not ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`,
    type,
  );
}
