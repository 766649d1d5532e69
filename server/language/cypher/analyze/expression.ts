import { mapLong, smallSteps } from '#core/replayed-loops.ts';
import { conditionOf } from '#query/algebra/cypher.ts';
import type { Expression, NestedItem } from '#query/algebra/expression.ts';
import { isTypeName } from '#query/functions/cypher/type-test.ts';
import type { Expression as Expr, ExpressionOf as ExprOf, TypeName } from '../ast.ts';
import { compileCall } from './call.ts';
import { holdsAggregate } from './expr-walk.ts';
import { labelCondition } from './labels.ts';
import type { Compiler, Substitution } from './compiler.ts';
import { type Scope, withBindings } from './scope.ts';
import { elementKind, requireKind, staticKind, type StaticKind } from './static-kind.ts';
import {
  compilePatternComprehension,
  compilePatternPredicate,
  compileShortestPath,
  compileSubQuery,
} from './sub-query.ts';

/** Expressions to the algebra; what can be known to be wrong is refused before anything runs (cypher.md 5, 16). */
export function compileExpression(
  compiler: Compiler,
  expr: Expr,
  scope: Scope,
  substitution?: Substitution,
): Expression {
  return new ExpressionCompiler(compiler, scope, substitution).value(expr);
}

const dialect = 'cypher';

type ChainSign = ExprOf<'chain'>['signs'][number];

/** What the operands of a chain so far have become. */
interface Chain {
  at: number;
  left: Expression;
  /** `a || b || c` is one operation, however long. */
  joined: { readonly whole: Expression; readonly operands: Expression[] } | undefined;
}

/** Longer chains are put together with pauses, so many operands at a time. */
const manySigns = 1_024;
const signsPerStep = 4;

function joinTo(chain: Chain, operator: ChainSign, right: Expression): void {
  const { left, joined } = chain;
  if (operator !== '||') chain.left = { op: 'Arithmetic', operator, left, right, dialect };
  else if (joined !== undefined && left === joined.whole) joined.operands.push(right);
  else {
    const operands = [left, right];
    chain.left = { op: 'Concatenate', operands, dialect };
    chain.joined = { whole: chain.left, operands };
  }
}

class ExpressionCompiler {
  readonly #compiler: Compiler;
  readonly #scope: Scope;
  readonly #substitution: Substitution | undefined;

  constructor(compiler: Compiler, scope: Scope, substitution: Substitution | undefined) {
    this.#compiler = compiler;
    this.#scope = scope;
    this.#substitution = substitution;
  }

  /** With other variables in sight. */
  #within(scope: Scope, expr: Expr): Expression {
    return this.#compiler.expression(expr, scope, this.#substitution);
  }

  /** Places to pause, but where a substitution notes what it meets. */
  #each<T, R>(parts: readonly T[], compile: (part: T, at: number) => R): readonly R[] {
    return this.#substitution === undefined ? mapLong(parts, compile) : parts.map(compile);
  }

  value(expr: Expr): Expression {
    return this.#substitution?.replace(expr, this.#scope) ?? this.#compile(expr);
  }

  condition(expr: Expr): Expression {
    requireKind(this.#compiler, expr, this.#scope, ['boolean'], 'a boolean');
    return conditionOf(expr.kind === 'pattern' ? this.#patternPredicate(expr) : this.value(expr));
  }

  #compile(expr: Expr): Expression {
    switch (expr.kind) {
      case 'literal':
        return { op: 'Constant', value: expr.value };
      case 'parameter':
        return { op: 'Parameter', name: expr.name };
      case 'variable':
        return this.#variable(expr);
      case 'property':
        requireKind(
          this.#compiler,
          expr.of,
          this.#scope,
          ['node', 'relationship', 'map', 'temporal', 'any'],
          'a node, relationship or map',
          staticKind(expr.of, this.#scope) === 'path' ? undefined : 'TypeError',
        );
        return { op: 'Property', of: this.value(expr.of), name: expr.name, dialect };
      case 'index':
        return { op: 'Element', of: this.value(expr.of), keys: [this.value(expr.key)], dialect };
      case 'slice':
        return {
          op: 'Slice',
          of: this.value(expr.of),
          low: expr.low && this.value(expr.low),
          high: expr.high && this.value(expr.high),
          inclusive: false,
          dialect,
        };
      case 'call':
        return compileCall(this.#compiler, expr, this.#scope, (part) => this.value(part));
      case 'list':
        return { op: 'List', items: this.#each(expr.items, (item) => this.value(item)) };
      case 'map':
        return {
          op: 'Map',
          entries: this.#each(expr.entries, ({ key, value }) => ({
            key,
            value: this.value(value),
          })),
        };
      case 'projection':
        return this.#mapProjection(expr);
      case 'case':
        return this.#case(expr);
      case 'countAll':
        throw this.#compiler.failure(
          'InvalidAggregation',
          expr.at,
          'count(*) stands only in WITH and RETURN',
        );
      case 'pattern':
        if (expr.path.selector !== undefined)
          return compileShortestPath(this.#compiler, expr, this.#scope);
        throw this.#compiler.failure(
          'UnexpectedSyntax',
          expr.at,
          'a pattern stands only where a condition is wanted',
        );
      case 'patternComprehension':
        return compilePatternComprehension(this.#compiler, expr, this.#scope);
      case 'subquery':
        return compileSubQuery(this.#compiler, expr, this.#scope);
      default:
        return this.#operation(expr);
    }
  }

  #operation(expr: Exclude<Expr, { readonly kind: PlainKind }>): Expression {
    switch (expr.kind) {
      case 'sign': {
        const operand = this.value(expr.operand);
        if (expr.sign === '-') return { op: 'Negate', operand, dialect };
        // Plus changes nothing and refuses what minus does.
        const negated: Expression = { op: 'Negate', operand, dialect };
        return { op: 'Negate', operand: negated, dialect };
      }
      case 'not':
        return { op: 'Not', operand: this.condition(expr.operand) };
      case 'and':
      case 'or':
      case 'xor':
        return {
          op: connectives[expr.kind],
          operands: this.#each(expr.operands, (operand) => this.condition(operand)),
        };
      case 'chain':
        return this.#chain(expr);
      case 'comparison':
        return this.#comparison(expr);
      case 'isNull': {
        const isNull: Expression = { op: 'IsNull', operand: this.value(expr.operand) };
        return expr.isNegated ? { op: 'Not', operand: isNull } : isNull;
      }
      case 'isTyped': {
        this.#requireType(expr.type, expr.at);
        const typed: Expression = {
          op: 'Call',
          function: '#cypher.isTyped',
          arguments: [this.value(expr.operand), { op: 'Constant', value: textOfType(expr.type) }],
        };
        return expr.isNegated ? { op: 'Not', operand: typed } : typed;
      }
      case 'in':
        requireKind(this.#compiler, expr.list, this.#scope, ['list', 'any'], 'a list');
        return {
          op: 'In',
          element: this.value(expr.element),
          list: this.value(expr.list),
          dialect,
        };
      case 'matches':
        return {
          op: 'Matches',
          text: this.value(expr.left),
          pattern: this.value(expr.right),
          dialect,
        };
      case 'textTest':
        return {
          op: 'TextPart',
          kind: textParts[expr.operator],
          text: this.value(expr.left),
          part: this.value(expr.right),
        };
      case 'hasLabels':
        return labelCondition(this.value(expr.of), expr.labels);
      default:
        return this.#overList(expr);
    }
  }

  #overList(expr: ExprOf<'comprehension' | 'quantifier' | 'reduce'>): Expression {
    const element = this.#compiler.newSlot();
    const list = this.value(expr.list);
    this.#refuseAggregates(expr);
    const type = elementKind(expr.list, this.#scope);
    const bound = withBindings(this.#scope, [
      [expr.variable, { slot: element, kind: 'value', ...(type !== 'any' && { type }) }],
    ]);
    if (expr.kind === 'reduce') {
      const accumulator = this.#compiler.newSlot();
      const both = withBindings(bound, [[expr.accumulator, { slot: accumulator, kind: 'value' }]]);
      return {
        op: 'Reduce',
        list,
        accumulator,
        initial: this.value(expr.initial),
        element,
        step: this.#within(both, expr.step),
        dialect,
      };
    }
    const inner = new ExpressionCompiler(this.#compiler, bound, this.#substitution);
    if (expr.kind === 'quantifier') {
      requireKind(this.#compiler, expr.list, this.#scope, ['list', 'any'], 'a list');
      const { where } = expr;
      const predicate: Expression =
        where === undefined
          ? { op: 'Truth', operand: { op: 'Slot', slot: element } }
          : inner.condition(where);
      return { op: 'Quantifier', kind: expr.quantifier, list, element, predicate, dialect };
    }
    return {
      op: 'Comprehension',
      list,
      element,
      ...(expr.where && { predicate: inner.condition(expr.where) }),
      ...(expr.result && { result: inner.value(expr.result) }),
      dialect,
    };
  }

  /** Rows are not what a comprehension goes through. */
  #refuseAggregates(expr: ExprOf<'comprehension' | 'quantifier' | 'reduce'>): void {
    const inner =
      expr.kind === 'reduce'
        ? [expr.step]
        : [expr.where, expr.kind === 'comprehension' ? expr.result : undefined];
    for (const part of inner)
      if (part !== undefined && holdsAggregate(part))
        throw this.#compiler.failure(
          'InvalidAggregation',
          part.at,
          'an aggregate cannot stand where elements of a list are gone through',
        );
  }

  #variable(expr: ExprOf<'variable'>): Expression {
    const binding = this.#scope.get(expr.name);
    if (binding === undefined)
      throw this.#compiler.unknown(
        'UndefinedVariable',
        expr,
        `variable '${expr.name}' is not defined`,
        this.#scope.keys(),
      );
    return { op: 'Slot', slot: binding.slot };
  }

  #chain({ signs, operands }: ExprOf<'chain'>): Expression {
    const values = this.#each(operands, (operand, at) => {
      const operator = signs[at - 1];
      if (operator !== undefined && operator !== '+' && operator !== '||') {
        if (at === 1) this.#requireNumber(operands[0] as Expr);
        this.#requireNumber(operand);
      }
      return this.value(operand);
    });
    const first = values[0] as Expression;
    const begin = (): Chain => ({ at: 0, left: first, joined: undefined });
    const step = (chain: Chain): boolean => {
      const end = Math.min(signs.length, chain.at + signsPerStep);
      for (; chain.at < end; chain.at += 1)
        joinTo(chain, signs[chain.at] as ChainSign, values[chain.at + 1] as Expression);
      return end === signs.length;
    };
    if (this.#substitution === undefined && signs.length >= manySigns)
      return smallSteps(begin, step).left;
    const chain = begin();
    while (!step(chain));
    return chain.left;
  }

  /** Only `+` and `||` take texts, lists and maps. */
  #requireNumber(operand: Expr): void {
    const allowed: readonly StaticKind[] = ['integer', 'float', 'temporal'];
    if (operand.kind === 'variable')
      requireKind(this.#compiler, operand, this.#scope, allowed, 'a number');
  }

  #requireType({ name, of }: TypeName, at: number): void {
    if (of !== undefined) this.#requireType(of, at);
    if (isTypeName(name) || name === 'LIST' || name === 'ARRAY') return;
    throw this.#compiler.failure('UnexpectedSyntax', at, `'${name}' is no type`);
  }

  /** `a < b <= c`: each pair of neighbours. */
  #comparison({ signs, operands }: ExprOf<'comparison'>): Expression {
    const comparesIds = operands.some(isIdCall);
    const values = this.#each(operands, (operand): Expression => {
      const value = this.value(operand);
      if (!comparesIds || isIdCall(operand)) return value;
      return { op: 'Call', function: '#cypher.asId', arguments: [value] };
    });
    const pairs = signs.map(
      (operator, at): Expression => ({
        op: 'Compare',
        operator,
        left: values[at] as Expression,
        right: values[at + 1] as Expression,
        dialect,
      }),
    );
    return pairs.length === 1 ? (pairs[0] as Expression) : { op: 'And', operands: pairs };
  }

  /** In the simple form each condition compares with the subject already. */
  #case({ branches, otherwise }: ExprOf<'case'>): Expression {
    return {
      op: 'Case',
      branches: this.#each(branches, ({ when, then }) => ({
        when: this.condition(when),
        // biome-ignore lint/suspicious/noThenProperty: a branch of CASE is never awaited
        then: this.value(then),
      })),
      otherwise: otherwise && this.value(otherwise),
    };
  }

  #mapProjection({ of, items }: ExprOf<'projection'>): Expression {
    const source = this.value(of);
    const element = this.#compiler.newSlot();
    const names = ['@rid', '@type'];
    const projected: Expression = {
      op: 'NestedProjection',
      of: source,
      element,
      items: items.flatMap((item): readonly NestedItem[] => {
        if (item.kind === 'all')
          return [
            { kind: 'all' as const },
            ...names.map((name) => ({ kind: 'exclude' as const, name })),
          ];
        return [{ kind: 'include' as const, name: item.key, value: this.value(item.value) }];
      }),
    };
    return {
      op: 'Case',
      branches: [
        // biome-ignore lint/suspicious/noThenProperty: a branch of CASE is never awaited
        { when: { op: 'IsNull', operand: source }, then: { op: 'Constant', value: null } },
      ],
      otherwise: projected,
    };
  }

  #patternPredicate(expr: ExprOf<'pattern'>): Expression {
    return compilePatternPredicate(this.#compiler, expr, this.#scope);
  }
}

/** `id(n)`: clients compare it with the text of a record id, too. */
function isIdCall(expr: Expr): boolean {
  return expr.kind === 'call' && expr.name.toLowerCase() === 'id';
}

type PlainKind =
  | 'literal'
  | 'parameter'
  | 'variable'
  | 'property'
  | 'index'
  | 'slice'
  | 'call'
  | 'list'
  | 'map'
  | 'projection'
  | 'case'
  | 'pattern'
  | 'patternComprehension'
  | 'subquery'
  | 'countAll';

const textParts = { 'STARTS WITH': 'start', 'ENDS WITH': 'end', CONTAINS: 'any' } as const;

/** `LIST<INTEGER NOT NULL>` */
function textOfType({ name, of, isNotNull }: TypeName): string {
  return `${name}${of ? `<${textOfType(of)}>` : ''}${isNotNull ? ' NOT NULL' : ''}`;
}

const connectives = { and: 'And', or: 'Or', xor: 'Xor' } as const;
