import { madeOnce, mapLong } from '#core/replayed-loops.ts';
import type { Value } from '#core/value/value.ts';
import type { Dialect, Expression } from '../algebra/expression.ts';
import { arithmeticOf, negate } from './arithmetic/arithmetic.ts';
import type { BinaryOperation } from './arithmetic/arithmetic.ts';
import { compileCall } from './calls.ts';
import { compileComprehension, compileList, compileLongList } from './collections.ts';
import { compileLongMap, compileMap } from './collections.ts';
import { compileQuantifier, compileReduce } from './collections.ts';
import { compileBetween, compileCompare } from './comparison/compile-comparison.ts';
import { compileChain, compileCoalesce, compileConcatenate } from './arithmetic/concatenation.ts';
import { compileLongArithmetic } from './arithmetic/long-arithmetic.ts';
import { isStatementConstant, oncePerStatement } from './constancy.ts';
import {
  cypherArithmeticOf,
  cypherConcatenate,
  cypherNegate,
} from './arithmetic/cypher-arithmetic.ts';
import { requireCondition } from './cypher-failures.ts';
import { bodyOf, bodyOfMany, type LoopBody } from './turns/list-turns.ts';
import { isLongChain } from './turns/long-chains.ts';
import type { CompileEnvironment, Condition, Evaluator, Predicate } from './evaluator.ts';
import {
  compileAnd,
  compileCase,
  compileEvery,
  compileNot,
  compileOr,
} from './comparison/logic.ts';
import { compileSome, compileXor, truthOf } from './comparison/logic.ts';
import { compileContains, compileIn } from './comparison/membership.ts';
import { compileAttribute, compileBareId, compileIsDefined } from './navigation.ts';
import { compileHasLabel, compileIsOfType, compileProperty } from './navigation.ts';
import { compileNestedProjection } from './nested-projection.ts';
import type { CompiledItem } from './nested-projection.ts';
import { compileUnwrapRows, compileUnwrapped, singleValue } from './rows.ts';
import { compileElement, compileSlice } from './selectors.ts';
import { strictlyEqual } from './comparison/sql-comparison.ts';
import { compileCypherMatches, compileLikeMatch, compileMatches } from './comparison/text-match.ts';
import { compileTextPart } from './comparison/text-part.ts';
import { appendedText, bytesAppended, uncounted } from './turns/value-size.ts';

/**
 * Expressions to closures. A closure is made once per plan and called once per row; it reads the frame and the context,
 * never the plan. Recursion follows the nesting of the expression, which parsers bound; flat chains (AND, OR, `||`, and the
 * left spine of arithmetic) are compiled and run without recursion.
 *
 * `compileExpression` gives values, `compileCondition` three-valued conditions, `compilePredicate` filters. The families of
 * operations are in files of their own.
 *
 * @throws DatabaseError `CommandExecution` for an unknown function, `IllegalArgument` for a wrong number of arguments,
 * `NotSupported` for a dialect that an operation does not have
 */
export function compileExpression(expression: Expression, env: CompileEnvironment): Evaluator {
  return compileValue(expression, env, false);
}

/** As a condition: true, false or null (unknown); what is no boolean is false. */
export function compileCondition(expression: Expression, env: CompileEnvironment): Condition {
  if (families[expression.op] === 'condition')
    return buildCondition(expression as ConditionExpression, env);
  const evaluate = compileExpression(expression, env);
  return (context) => truthOf(evaluate(context));
}

/**
 * As a filter: true only when the condition is known to hold. AND and OR ask their operands the same question and stop at the
 * first that settles it, so an operand behind an unknown one is not evaluated.
 */
export function compilePredicate(expression: Expression, env: CompileEnvironment): Predicate {
  switch (expression.op) {
    case 'And':
      return compileEvery(
        mapLong(expression.operands, (operand) => compilePredicate(operand, env)),
        longBodyOf(expression.operands, env),
      );
    case 'Or':
      return compileSome(
        mapLong(expression.operands, (operand) => compilePredicate(operand, env)),
        longBodyOf(expression.operands, env),
      );
    case 'Not':
      return compileRefutation(expression.operand, env);
    default: {
      const condition = compileCondition(expression, env);
      return (context) => condition(context) === true;
    }
  }
}

/** True only when the condition is known not to hold. */
function compileRefutation(expression: Expression, env: CompileEnvironment): Predicate {
  switch (expression.op) {
    case 'And':
      return compileSome(
        mapLong(expression.operands, (operand) => compileRefutation(operand, env)),
        longBodyOf(expression.operands, env),
      );
    case 'Or':
      return compileEvery(
        mapLong(expression.operands, (operand) => compileRefutation(operand, env)),
        longBodyOf(expression.operands, env),
      );
    case 'Not':
      return compilePredicate(expression.operand, env);
    default: {
      const condition = compileCondition(expression, env);
      return (context) => condition(context) === false;
    }
  }
}

/** `isConstant`: an enclosing expression already keeps its value for the whole statement. */
function compileValue(
  expression: Expression,
  env: CompileEnvironment,
  isConstant: boolean,
): Evaluator {
  if (!isConstant && isWorthKeeping(expression) && isStatementConstant(expression, env))
    return oncePerStatement(buildEvaluator(expression, env, true));
  return buildEvaluator(expression, env, isConstant);
}

function isWorthKeeping(expression: Expression): boolean {
  switch (expression.op) {
    case 'Call':
    case 'Arithmetic':
    case 'Concatenate':
    case 'List':
    case 'Map':
    case 'Negate':
      return true;
    default:
      return false;
  }
}

/** Which function below compiles an operation; a new operation fails to compile here until someone decides. */
const families = {
  Constant: 'scalar',
  Parameter: 'scalar',
  Slot: 'scalar',
  Variable: 'scalar',
  Property: 'scalar',
  Attribute: 'scalar',
  Call: 'scalar',
  Negate: 'scalar',
  Arithmetic: 'scalar',
  Concatenate: 'scalar',
  Coalesce: 'scalar',
  Case: 'scalar',
  List: 'collection',
  Map: 'collection',
  Element: 'collection',
  Slice: 'collection',
  Comprehension: 'collection',
  Reduce: 'collection',
  NestedProjection: 'collection',
  SingleValue: 'collection',
  UnwrapRows: 'collection',
  SubPlan: 'collection',
  Compare: 'condition',
  And: 'condition',
  Or: 'condition',
  Xor: 'condition',
  Truth: 'condition',
  TextPart: 'condition',
  Not: 'condition',
  IsNull: 'condition',
  In: 'condition',
  Between: 'condition',
  Like: 'condition',
  Matches: 'condition',
  Contains: 'condition',
  Quantifier: 'condition',
  IsDefined: 'condition',
  IsOfType: 'condition',
  StrictEquals: 'condition',
} as const satisfies Record<Expression['op'], 'scalar' | 'collection' | 'condition'>;

type OperationIn<Family> = {
  [Op in Expression['op']]: (typeof families)[Op] extends Family ? Op : never;
}[Expression['op']];
type ScalarExpression = Extract<Expression, { op: OperationIn<'scalar'> }>;
type CollectionExpression = Extract<Expression, { op: OperationIn<'collection'> }>;
type ConditionExpression = Extract<Expression, { op: OperationIn<'condition'> }>;

function buildEvaluator(
  expression: Expression,
  env: CompileEnvironment,
  isConstant: boolean,
): Evaluator {
  const compile = (inner: Expression) => compileValue(inner, env, isConstant);
  switch (families[expression.op]) {
    case 'scalar':
      return compileScalar(expression as ScalarExpression, env, compile);
    case 'collection':
      return compileCollection(expression as CollectionExpression, env, compile);
    case 'condition':
      return buildCondition(expression as ConditionExpression, env);
  }
}

function compileScalar(
  expression: ScalarExpression,
  env: CompileEnvironment,
  compile: (inner: Expression) => Evaluator,
): Evaluator {
  switch (expression.op) {
    case 'Constant': {
      const { value } = expression;
      return () => value;
    }
    case 'Parameter': {
      const { name } = expression;
      return (context) => context.parameters.get(name) ?? null;
    }
    case 'Slot': {
      const { slot } = expression;
      return (context) => (context.frame[slot] as Value | undefined) ?? null;
    }
    case 'Variable': {
      const { name } = expression;
      return (context) => context.variables.get(name);
    }
    case 'Property': {
      const { of, name } = expression;
      const column = of.op === 'Slot' ? env.compileColumn?.(of.slot, name) : undefined;
      if (column !== undefined) return column;
      return compileProperty(compile(of), name, expression.dialect);
    }
    case 'Attribute': {
      const { of } = expression;
      if (of.op === 'Slot' && env.bareIds?.has(of.slot) === true) return compileBareId(of.slot);
      return compileAttribute(compile(of), expression.attribute);
    }
    case 'Call':
      return compileCall(expression, mapLong(expression.arguments, compile), env);
    case 'Negate': {
      if (expression.dialect === 'cypher') {
        const value = compile(expression.operand);
        return (context) => cypherNegate(value(context));
      }
      const operand = compileUnwrappable(expression.operand, compile);
      return (context) => negate(operand(context));
    }
    case 'Arithmetic':
      return compileArithmetic(expression, compile, env);
    case 'Concatenate':
      return expression.dialect === 'cypher'
        ? compileChain(mapLong(expression.operands, compile), cypherConcatenate)
        : compileConcatenate(mapLong(expression.operands, compile));
    case 'Coalesce':
      return compileCoalesce(mapLong(expression.operands, compile));
    case 'Case':
      return compileCase(
        mapLong(expression.branches, (branch) => ({
          when: compileCondition(branch.when, env),
          result: compile(branch.then),
        })),
        expression.otherwise && compile(expression.otherwise),
        isLongChain(expression.branches)
          ? bodyOfMany(expression.branches, env.functions, ({ when }) => when)
          : undefined,
      );
  }
}

function compileCollection(
  expression: CollectionExpression,
  env: CompileEnvironment,
  compile: (inner: Expression) => Evaluator,
): Evaluator {
  switch (expression.op) {
    case 'List': {
      const items = mapLong(expression.items, compile);
      const isLong = items.length >= longListLength && areQuick(expression.items, env);
      return isLong ? compileLongList(items) : compileList(items);
    }
    case 'Map': {
      const entries = mapLong(expression.entries, ({ key, value }) => ({
        key,
        value: compile(value),
      }));
      const isLong = entries.length >= longListLength && areQuick(valuesOf(expression), env);
      return isLong ? compileLongMap(entries) : compileMap(entries);
    }
    case 'Element':
      return compileElement(
        compile(expression.of),
        expression.keys.map(compile),
        expression.dialect,
      );
    case 'Slice':
      return compileSlice(
        compile(expression.of),
        expression.low && compile(expression.low),
        expression.high && compile(expression.high),
        expression.inclusive,
        expression.dialect,
      );
    case 'Comprehension':
      return compileComprehension(
        compile(expression.list),
        expression.element,
        expression.predicate && compileCondition(expression.predicate, env),
        expression.result && compile(expression.result),
        {
          dialect: expression.dialect,
          body: bodyOf([expression.predicate, expression.result], env.functions),
        },
      );
    case 'Reduce':
      return compileReduce(
        compile(expression.list),
        expression.accumulator,
        compile(expression.initial),
        expression.element,
        compile(expression.step),
        { dialect: expression.dialect, body: bodyOf([expression.step], env.functions) },
      );
    case 'NestedProjection':
      return compileNestedProjection(
        compile(expression.of),
        expression.element,
        expression.items.map(
          (item): CompiledItem =>
            item.kind === 'include' || item.kind === 'merge'
              ? { ...item, value: compile(item.value) }
              : item,
        ),
      );
    case 'SingleValue': {
      const rows = compile(expression.rows);
      return (context) => singleValue(rows(context));
    }
    case 'UnwrapRows':
      return compileUnwrapRows(compile(expression.rows));
    case 'SubPlan':
      return env.compileSubPlan(expression.plan, expression.output, expression.mode);
  }
}

function valuesOf({ entries }: Expression & { readonly op: 'Map' }): readonly Expression[] {
  return mapLong(entries, ({ value }) => value);
}

/** Of a chain that takes turns: what may be long about its operands; undefined for others. */
function longBodyOf(
  operands: readonly Expression[],
  { functions }: CompileEnvironment,
): LoopBody | undefined {
  return isLongChain(operands) ? bodyOfMany(operands, functions, (operand) => operand) : undefined;
}

/** Lists and maps of more items are made in turns. */
const longListLength = 1_024;

/** None of them takes long itself, whatever it meets. */
function areQuick(items: readonly Expression[], { functions }: CompileEnvironment): boolean {
  const isQuick = mapLong(items, (item) => {
    const { isWeighty, holdsLongCalls } = bodyOf([item], functions);
    return !isWeighty && !holdsLongCalls;
  });
  return isQuick.every(Boolean);
}

const connectives = { And: compileAnd, Or: compileOr, Xor: compileXor };

function buildCondition(expression: ConditionExpression, env: CompileEnvironment): Condition {
  const compile = (inner: Expression) => compileExpression(inner, env);
  switch (expression.op) {
    case 'Compare': {
      const compileOperand = operandCompiler(expression.dialect, compile);
      return compileCompare(
        expression,
        compileOperand(expression.left),
        compileOperand(expression.right),
      );
    }
    case 'And':
    case 'Or':
    case 'Xor': {
      const { op, operands } = expression;
      const conditions = mapLong(operands, (operand) => compileCondition(operand, env));
      return connectives[op](conditions, longBodyOf(operands, env));
    }
    case 'Truth': {
      const operand = compile(expression.operand);
      return (context) => requireCondition(operand(context));
    }
    case 'Not':
      return compileNot(compileCondition(expression.operand, env));
    case 'IsNull': {
      const operand = compile(expression.operand);
      return (context) => operand(context) === null;
    }
    case 'In':
      return compileIn(
        operandCompiler(expression.dialect, compile)(expression.element),
        compile(expression.list),
        expression,
      );
    case 'Between': {
      const compileOperand = operandCompiler(expression.dialect, compile);
      return compileBetween(
        compileOperand(expression.operand),
        compileOperand(expression.low),
        compileOperand(expression.high),
        expression.dialect,
      );
    }
    case 'Like':
      return compileLikeMatch(compile(expression.text), compile(expression.pattern), {
        ignoreCase: expression.ignoreCase,
      });
    case 'Matches':
      return (expression.dialect === 'cypher' ? compileCypherMatches : compileMatches)(
        compile(expression.text),
        compile(expression.pattern),
      );
    case 'TextPart':
      return compileTextPart(expression.kind, compile(expression.text), compile(expression.part));
    case 'Contains':
      return compileContains(
        expression.kind,
        compile(expression.collection),
        compile(expression.value),
      );
    case 'Quantifier':
      return compileQuantifier(
        expression.kind,
        compile(expression.list),
        expression.element,
        compileCondition(expression.predicate, env),
        { dialect: expression.dialect, body: bodyOf([expression.predicate], env.functions) },
      );
    case 'IsDefined':
      return compileIsDefined(compile(expression.of), expression.name);
    case 'IsOfType':
      return expression.dialect === 'cypher'
        ? compileHasLabel(compile(expression.operand), expression.types)
        : compileIsOfType(compile(expression.operand), expression.types);
    case 'StrictEquals':
      return compileStrictEquals(compile(expression.left), compile(expression.right));
  }
}

function compileStrictEquals(left: Evaluator, right: Evaluator): Condition {
  return (context) => strictlyEqual(left(context), right(context));
}

/** SQL unwraps the rows of sub-queries where one value is needed. */
function operandCompiler(
  dialect: Dialect,
  compile: (inner: Expression) => Evaluator,
): (inner: Expression) => Evaluator {
  return dialect === 'cypher' ? compile : (inner) => compileUnwrappable(inner, compile);
}

/** Variables may hold the rows of a sub-query, which count as one value where one is needed. */
function compileUnwrappable(
  expression: Expression,
  compile: (inner: Expression) => Evaluator,
): Evaluator {
  const operand = compile(expression);
  const mayHoldRows = expression.op === 'Variable' || expression.op === 'Slot';
  return mayHoldRows ? compileUnwrapped(operand) : operand;
}

type ArithmeticExpression = Extract<Expression, { op: 'Arithmetic' }>;

/** `a + b - c ...` nests to the left, as deep as the chain is long; its spine is walked, not recursed. */
function compileArithmetic(
  expression: ArithmeticExpression,
  compile: (inner: Expression) => Evaluator,
  { functions }: CompileEnvironment,
): Evaluator {
  const isSingle = expression.left.op !== 'Arithmetic';
  const { spine, left } = isSingle
    ? { spine: [expression], left: expression.left }
    : madeOnce(() => spineOf(expression));
  const compileOperand = operandCompiler(expression.dialect, compile);
  const start = compileOperand(left);
  if (isLongChain(spine)) {
    const steps = mapLong(spine, (step) => ({
      right: compileOperand(step.right),
      operation: operationOf(step),
      isAppend: step.operator === '+',
    }));
    return compileLongArithmetic(start, steps, bodyOfMany(spine, functions, rightOf));
  }
  const operations = mapLong(spine, operationOf);
  const appends = mapLong(spine, ({ operator }) => operator === '+');
  const operands = mapLong(spine, (step) => compileOperand(step.right));
  const [operation] = operations;
  const [operand] = operands;
  if (operation && operand && spine.length === 1)
    return (context) => operation(start(context), operand(context), context);
  return (context) => {
    let value = start(context);
    let bytes = uncounted;
    for (let i = 0; i < operations.length; i++) {
      const right = (operands[i] as Evaluator)(context);
      if (appends[i] === true && typeof value === 'string' && typeof right === 'string') {
        bytes = bytesAppended(value, right, bytes, context);
        value += right;
      } else {
        bytes = uncounted;
        value = (operations[i] as BinaryOperation)(value, right, context);
      }
    }
    return typeof value === 'string' ? appendedText(value, bytes, context) : value;
  };
}

function rightOf({ right }: ArithmeticExpression): Expression {
  return right;
}

/** The operations of a chain, the first that is done first, and what it begins with. */
function spineOf(expression: ArithmeticExpression): {
  readonly spine: readonly ArithmeticExpression[];
  readonly left: Expression;
} {
  const spine: ArithmeticExpression[] = [];
  let left: Expression = expression;
  while (left.op === 'Arithmetic') {
    spine.push(left);
    left = left.left;
  }
  return { spine: spine.reverse(), left };
}

function operationOf(expression: ArithmeticExpression): BinaryOperation {
  return expression.dialect === 'cypher'
    ? cypherArithmeticOf(expression.operator)
    : arithmeticOf(expression.operator);
}
