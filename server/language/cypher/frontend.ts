import { type PausingWork, toEnd } from '#core/pausing-work.ts';
import { inStretches, madeOnce, stepped } from '#core/replayed-loops.ts';
import type { MissingType } from '#query/algebra/missing-type.ts';
import { SlotAllocator } from '#query/binder/slot-allocator.ts';
import type { Expression, Output } from '#query/algebra/expression.ts';
import { walkPlanInSteps } from '#query/algebra/plan-walk-in-steps.ts';
import type { LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import type { Program } from '#query/algebra/program.ts';
import type { AnalysisContext, LanguageFrontend, ParseLimits } from '../frontend.ts';
import { type CompiledQuery, Compiler } from './analyze/compiler.ts';
import { compileExpression } from './analyze/expression.ts';
import { compileQuery } from './analyze/query.ts';
import { compileCommand, queryOfShow } from './analyze/command.ts';
import { transactionScript } from './analyze/transaction.ts';
import { notSupported } from './failures.ts';
import type { CypherAst, Query, SingleQuery, Statement } from './ast.ts';
import { parseInSteps, parseStatement } from './parser/statement.ts';

/** Language `cypher`: openCypher 9 with what is usual beyond it (cypher.md). */
export const cypherFrontend: LanguageFrontend<CypherAst> = {
  name: 'cypher',
  aliases: ['opencypher'],
  parse: (text: string, limits: ParseLimits) => parseStatement(text, limits),
  parseInSteps,
  analyze: (ast, context) => toEnd(analyzeInSteps(ast, context)),
  analyzeInSteps,
};

function analyzeInSteps(ast: CypherAst, context: AnalysisContext): PausingWork<Program> {
  const found = { slots: new SlotAllocator(), missing: new Map<string, MissingType>() };
  return inStretches(() => analyzeStatement(ast, context, found), found.slots);
}

function analyzeStatement(
  ast: CypherAst,
  { catalog }: AnalysisContext,
  found: ConstructorParameters<typeof Compiler>[2],
): Program {
  const { statement } = ast;
  if (statement.kind === 'command' && statement.command.kind === 'transaction') {
    if (ast.inspect !== undefined)
      throw notSupported(`${ast.inspect.toUpperCase()} of transactions`);
    return transactionScript(statement.command);
  }
  const compiler = new Compiler(ast.text, catalog, found, {
    expression: compileExpression,
    query: compileQuery,
  });
  const compiled = compileStatement(compiler, statement);
  const { plan, output } = answered(compiled, compiler);
  const { inspect } = ast;
  const isExplained = inspect === 'explain';
  const missing = [...compiler.missing.values()];
  const program: QueryProgram = {
    kind: 'query',
    plan,
    output,
    slotCount: compiler.slots.count,
    statementLimit: statement.kind === 'query' ? writtenLimit(statement.query) : undefined,
    inspect,
    dialect: 'cypher',
    requiredParameters: isExplained ? [] : madeOnce(() => parametersOf(plan, ast)),
    ...(statement.kind === 'command' && { isCommand: true }),
  };
  if (missing.length === 0) return program;
  return {
    ...program,
    plan: { op: 'Drain', input: { op: 'Argument' } },
    output: { kind: 'columns', columns: [] },
    missingTypes: missing,
  };
}

function compileStatement(compiler: Compiler, statement: Statement): CompiledQuery {
  const none = new Map();
  if (statement.kind === 'query') return compiler.query(statement.query, none, none);
  const { command } = statement;
  if (command.kind === 'show') return compiler.query(queryOfShow(command), none, none);
  return { plan: compileCommand(compiler, command), columns: undefined, writes: true };
}

/** A single column that is a node or relationship is the row itself (cypher.md 14). */
function answered(
  { plan, columns }: CompiledQuery,
  compiler: Compiler,
): {
  readonly plan: LogicalPlan;
  readonly output: Output;
} {
  if (columns === undefined)
    return { plan: { op: 'Drain', input: plan }, output: { kind: 'columns', columns: [] } };
  const [only] = columns;
  if (columns.length === 1 && (only?.kind === 'node' || only?.kind === 'relationship')) {
    const { name, slot } = only;
    const row = compiler.newSlot();
    // A null, of an OPTIONAL MATCH, is a row with a null in it.
    const value: Expression = {
      op: 'Coalesce',
      operands: [
        { op: 'Slot', slot },
        { op: 'Map', entries: [{ key: name, value: { op: 'Slot', slot } }] },
      ],
    };
    return {
      plan: { op: 'Project', input: plan, columns: [{ slot: row, value }] },
      output: { kind: 'value', slot: row, name },
    };
  }
  return {
    plan,
    output: { kind: 'columns', columns: columns.map(({ name, slot }) => ({ name, slot })) },
  };
}

/** LIMIT of the RETURN (http-api.md 6.3); of a UNION the sum, where all of its parts have a constant one. */
function writtenLimit({ parts }: Query): QueryProgram['statementLimit'] {
  const [first, ...others] = parts.map(limitOfPart);
  if (others.length === 0) return first;
  let sum = 0;
  for (const limit of [first, ...others]) {
    if (typeof limit !== 'number') return undefined;
    sum += limit;
  }
  return sum;
}

function limitOfPart({ clauses }: SingleQuery): QueryProgram['statementLimit'] {
  const last = clauses.at(-1);
  if (last?.kind !== 'return') return undefined;
  const { limit } = last.projection;
  if (limit?.kind === 'parameter') return { parameter: limit.name };
  return limit?.kind === 'literal' && typeof limit.value === 'number' ? limit.value : undefined;
}

/** Names of the parameters that the plan uses. */
function parametersOf(plan: LogicalPlan, { statement, text }: CypherAst): readonly string[] {
  if (!text.includes('$') && !isCallWithoutParentheses(statement)) return [];
  return stepped(function* () {
    const names = new Set<string>();
    yield* walkPlanInSteps(plan, {
      expression(part) {
        if (part.op === 'Parameter') names.add(part.name);
      },
    });
    return [...names];
  });
}

/** Its arguments are the parameters of their names. */
function isCallWithoutParentheses(statement: Statement): boolean {
  if (statement.kind !== 'query') return false;
  const [first] = statement.query.parts[0]?.clauses ?? [];
  return first?.kind === 'callProcedure' && first.args === undefined;
}
