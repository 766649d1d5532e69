import type { Value } from '#core/value/value.ts';
import { printPlan } from '#query/algebra/print.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import type { OperationProgram } from '#query/algebra/program.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { QueryScope, type Scope } from '#query/binder/scope.ts';
import type { AnalysisContext } from '../../frontend.ts';
import { type StatementSource, withPlace } from '../../name-place.ts';
import type { Command, Statement } from '../statements.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Expression } from '../ast.ts';
import { Analysis, type AnalyzedQuery, notSupportedYet, rowEnvironment } from './analysis.ts';
import { analyzeExpression } from './expression/expression.ts';
import { withColumnTypes } from './expression/column-types.ts';
import { definitionChange } from './schema/definition.ts';
import { analyzeMaintenance, maintenance, maintenanceCommands } from './maintain.ts';
import { analyzeMatch } from './match.ts';
import { analyzeOperation, isOperation, outlineOfOperation } from './operation.ts';
import { outlineOfScriptStatement } from './outline.ts';
import { analyzeRecordCommand } from './write/record-command.ts';
import { alteration, analyzeSchemaStatement } from './schema/schema.ts';
import { analyzeSelect } from './select.ts';
import { analyzeTraverse } from './traverse.ts';
import { viewWork } from './schema/view.ts';
import { analyzeTruncate } from './schema/truncate.ts';
import { analyzeDelete, analyzeUpdate } from './write/update.ts';
import { analyzeCreateEdge, analyzeInsert } from './write/write.ts';

/** The analysis of one statement: names become slots, ids and registry names. */
export function newAnalysis(
  text: string,
  context: Pick<AnalysisContext, 'catalog' | 'variables' | 'parameters' | 'expressionDepthMax'>,
): Analysis {
  return new Analysis({
    text,
    catalog: context.catalog,
    variables: context.variables,
    parameters: context.parameters ?? noParameters,
    functions: functionRegistry,
    parseLimits: {
      expressionDepthMax: context.expressionDepthMax,
      statementBytesMax: Number.POSITIVE_INFINITY,
    },
    heart: { expression: analyzeExpression, query: analyzeStatement },
  });
}

/** @throws DatabaseError `Schema`, `Syntax`, `IllegalArgument`, `CommandExecution`, `NotSupported` */
export function analyzeProgram(
  text: string,
  statement: Statement,
  context: AnalysisContext,
): QueryProgram {
  const inspected = statement.kind === 'inspect' ? statement : undefined;
  const analysis = newAnalysis(text, context);
  const source = { text, at: statement.at, end: statement.end };
  const inner = inspected?.statement ?? statement;
  const query = placed(source, () =>
    inspected?.mode === 'explain' && inner.kind === 'command' && isOperation(inner)
      ? outlineOfOperation(analysis, inner)
      : analyzeStatement(analysis, inner, undefined),
  );
  return {
    kind: 'query',
    source,
    plan: query.plan,
    output: withColumnTypes(query.output, query.plan, analysis.catalog),
    slotCount: analysis.slots.count,
    statementLimit: query.statementLimit,
    inspect: inspected?.mode,
    ...analysis.remarks(),
  };
}

/**
 * A statement that is an operation on the database.
 * @throws DatabaseError `IllegalArgument`
 */
export function analyzeOperationProgram(
  text: string,
  statement: Command,
  context: AnalysisContext,
): OperationProgram {
  const source = { text, at: statement.at, end: statement.end };
  return placed(source, () => analyzeOperation(newAnalysis(text, context), statement));
}

/**
 * The value of an expression that stands alone in a script: a program of one row with that value.
 * @throws DatabaseError as `analyzeProgram`
 */
export function analyzeValueProgram(
  text: string,
  node: Expression,
  context: AnalysisContext,
): QueryProgram {
  const analysis = newAnalysis(text, context);
  const scope = new QueryScope(undefined);
  const source = { text, at: node.at, end: node.end };
  const value = placed(source, () => analysis.expression(node, rowEnvironment(scope)));
  const slot = analysis.slots.next();
  scope.stage((input) => ({ op: 'Project', input, columns: [{ slot, value }] }));
  return {
    kind: 'query',
    source,
    plan: scope.close(),
    output: { kind: 'value', slot },
    slotCount: analysis.slots.count,
    statementLimit: undefined,
    inspect: undefined,
    ...analysis.remarks(),
  };
}

/** Errors about names say where the name stands. */
function placed<T>(source: StatementSource, analyze: () => T): T {
  try {
    return analyze();
  } catch (error) {
    throw withPlace(error, source);
  }
}

/** A statement as a plan, alone or inside another one. */
function analyzeStatement(
  analysis: Analysis,
  statement: Statement,
  parent: Scope | undefined,
): AnalyzedQuery {
  switch (statement.kind) {
    case 'select':
      return analyzeSelect(analysis, statement, parent);
    case 'match':
      return analyzeMatch(analysis, statement, parent);
    case 'traverse':
      return analyzeTraverse(analysis, statement, parent);
    case 'insert':
      return analyzeInsert(analysis, statement, parent);
    case 'createEdge':
      return analyzeCreateEdge(analysis, statement, parent);
    case 'update':
      return analyzeUpdate(analysis, statement, parent);
    case 'delete':
      return analyzeDelete(analysis, statement, parent);
    case 'inspect':
      if (statement.mode === 'explain') return explained(analysis, statement.statement, parent);
      return profiled(analysis, statement.statement, parent);
    case 'command': {
      if (maintenanceCommands.has(statement.name)) return analyzeMaintenance(analysis, statement);
      const written = analyzeRecordCommand(analysis, statement, parent);
      if (written !== undefined) return written;
      if (statement.name.startsWith('TRUNCATE '))
        return analyzeTruncate(analysis, statement, parent);
      const work = viewWork(analysis, statement);
      if (work !== undefined) return maintenance(analysis, work);
      const change = definitionChange(analysis, statement);
      if (change !== undefined) return alteration(analysis, change);
      throw refusedCommand(statement);
    }
    case 'createType':
    case 'alterType':
    case 'dropType':
    case 'createProperty':
    case 'alterProperty':
    case 'dropProperty':
    case 'createBucket':
    case 'dropBucket':
    case 'createIndex':
    case 'dropIndex':
      return analyzeSchemaStatement(analysis, statement);
    default:
      // The grammar lets these stand in EXPLAIN and PROFILE only; `script/build.ts` runs what is profiled.
      return outlineOfScriptStatement(analysis, statement);
  }
}

/** EXPLAIN as a sub-query: one row with the text of the plan, which is not run. */
function explained(
  analysis: Analysis,
  statement: Statement,
  parent: Scope | undefined,
): AnalyzedQuery {
  const writesBefore = analysis.writeCount;
  const { plan } = analyzeStatement(analysis, statement, undefined);
  analysis.writeCount = writesBefore;
  const scope = new QueryScope(parent);
  const slot = analysis.slots.next();
  const value = { op: 'Constant', value: printPlan(plan) } as const;
  scope.stage((input) => ({ op: 'Project', input, columns: [{ slot, value }] }));
  return {
    plan: scope.close(),
    output: { kind: 'columns', columns: [{ name: 'executionPlan', slot }] },
    metadata: new Map(),
    statementLimit: undefined,
  };
}

/** PROFILE as a sub-query: it runs, what it writes stays, and one row tells how that went. */
function profiled(
  analysis: Analysis,
  statement: Statement,
  parent: Scope | undefined,
): AnalyzedQuery {
  const { plan } = analyzeStatement(analysis, statement, parent);
  const slot = analysis.slots.next();
  return {
    plan: { op: 'Profile', input: plan, as: slot },
    output: { kind: 'columns', columns: [{ name: 'executionPlan', slot }] },
    metadata: new Map(),
    statementLimit: undefined,
  };
}

/** The families that the reference itself refuses, or that are tagged exotic, say so (house decision 19). */
const refusedForGood: ReadonlySet<string> = new Set(['ALTER BUCKET', 'ALIGN DATABASE']);

function refusedCommand(command: Command): DatabaseError {
  const { name } = command;
  // House decision 28.
  if (/TIMESERIES|CONTINUOUS AGGREGATE/.test(name))
    return new DatabaseError('NotSupported', 'not supported: time series');
  if (isOperation(command))
    return new DatabaseError('NotSupported', `not supported inside another statement: ${name}`);
  if (!refusedForGood.has(name)) return notSupportedYet(name);
  return new DatabaseError('NotSupported', `not supported: ${name}`);
}

const noParameters: ReadonlyMap<string, Value> = new Map();
