import { DatabaseError } from '#core/errors.ts';
import type { Expression as Computed, Slot } from '#query/algebra/expression.ts';
import type { AggregateColumn } from '#query/algebra/plan.ts';
import { valueOfRow } from '#query/binder/row.ts';
import { unknownFunction } from '#query/evaluate/calls.ts';
import type { FunctionRegistry } from '#query/evaluate/function-definition.ts';
import type { Expression, FunctionCall } from '../../ast.ts';
import { operandsOf, someExpression } from '../../syntax-walk.ts';
import type { Aggregation, Analysis, Environment } from '../analysis.ts';
import { identityOf } from './expression-identity.ts';

/** True for a call that accumulates over rows: functions of key A1 only with exactly one argument. */
export function isAggregateCall(
  node: Expression,
  functions: FunctionRegistry,
): node is FunctionCall {
  if (node.kind !== 'call') return false;
  if (functions.aggregate(node.name) === undefined) return false;
  return node.isStar || node.arguments.length === 1 || functions.scalar(node.name) === undefined;
}

/** Adds every node of the expression that is or contains an aggregate call. @returns true when there is one */
export function markAggregates(
  node: Expression,
  functions: FunctionRegistry,
  aggregating: Set<Expression>,
): boolean {
  let found = isAggregateCall(node, functions);
  for (const operand of operandsOf(node))
    if (markAggregates(operand, functions, aggregating)) found = true;
  if (found) aggregating.add(node);
  return found;
}

/** The value of a node over a group; undefined when it is computed from its operands as usual. */
export function overGroup(
  analysis: Analysis,
  node: Expression,
  env: Environment,
  aggregation: Aggregation,
): Computed | undefined {
  if (aggregation.keys.size > 0) {
    const key = aggregation.keys.get(identityOf(node, analysis.text));
    if (key !== undefined) return slotOf(analysis, env, key);
  }
  if (aggregation.aggregating.has(node))
    return isAggregateCall(node, analysis.functions)
      ? slotOf(analysis, env, aggregateSlot(analysis, node, aggregation))
      : undefined;
  if (aggregation.keysOnly || isRowFree(node)) return undefined;
  const { names } = env;
  if (
    names !== undefined &&
    someExpression(node, (part) => part.kind === 'name' && names.has(part.name))
  )
    return undefined;
  return slotOf(analysis, env, firstSlot(analysis, node, aggregation));
}

function slotOf(analysis: Analysis, env: Environment, slot: Slot): Computed {
  analysis.dependencies.note(env.scope.level);
  return { op: 'Slot', slot };
}

function isRowFree(node: Expression): boolean {
  return (
    node.kind === 'literal' ||
    node.kind === 'constants' ||
    node.kind === 'parameter' ||
    node.kind === 'rid'
  );
}

function firstSlot(analysis: Analysis, node: Expression, aggregation: Aggregation): Slot {
  const identity = identityOf(node, analysis.text);
  const known = aggregation.firstByIdentity.get(identity);
  if (known !== undefined) return known;
  const value = analysis.expression(node, aggregation.rowEnvironment);
  const slot = analysis.slots.next();
  aggregation.first.push({ slot, value });
  aggregation.firstByIdentity.set(identity, slot);
  return slot;
}

function aggregateSlot(analysis: Analysis, node: FunctionCall, aggregation: Aggregation): Slot {
  const identity = identityOf(node, analysis.text);
  const known = aggregation.aggregateByIdentity.get(identity);
  if (known !== undefined) return known;
  for (const argument of node.arguments)
    if (aggregation.aggregating.has(argument))
      throw analysis.fault(argument.at, 'aggregate functions cannot be nested');
  const slot = analysis.slots.next();
  aggregation.aggregates.push({
    slot,
    ...aggregateCall(analysis, node, aggregation),
    distinct: false,
  });
  aggregation.aggregateByIdentity.set(identity, slot);
  return slot;
}

function aggregateCall(
  analysis: Analysis,
  node: FunctionCall,
  aggregation: Aggregation,
): Pick<AggregateColumn, 'function' | 'arguments'> {
  const definition = analysis.functions.aggregate(node.name);
  if (definition === undefined) throw unknownFunction(analysis.functions, node.name);
  const env = aggregation.rowEnvironment;
  if (node.isStar) {
    // `count(*)` counts rows; for any other function `*` is the current record.
    const args = definition.name === 'count' ? [] : [valueOfRow(env.row)];
    return { function: definition.name, arguments: args };
  }
  const { min, max } = definition.arity;
  const count = node.arguments.length;
  if (count < min || count > max)
    throw new DatabaseError(
      'IllegalArgument',
      `function '${definition.name}' requires ${min === max ? min : `${min} to ${max}`} arguments, got ${count}. Syntax: ${definition.syntax}`,
    );
  return {
    function: definition.name,
    arguments: node.arguments.map((argument) => analysis.expression(argument, env)),
  };
}
