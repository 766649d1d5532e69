import type { RefreshMode } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Maintenance } from '#query/algebra/maintenance.ts';
import type { Expression, Slot } from '#query/algebra/expression.ts';
import { inputsOf, walkPlan } from '#query/algebra/plan-walk.ts';
import type { LogicalPlan, Move, PlanNode } from '#query/algebra/plan.ts';
import { isWriting, nodesOf } from '../../script/effects.ts';
import type { Command, Statement } from '../../statements.ts';
import type { Analysis } from '../analysis.ts';

/** Materialized views (sql.md 14.3) as work on the database; undefined for other commands. */
export function viewWork(analysis: Analysis, command: Command): Maintenance | undefined {
  const name = text(command, 'name');
  switch (command.name) {
    case 'CREATE MATERIALIZED VIEW':
      return createView(analysis, command);
    case 'ALTER MATERIALIZED VIEW':
      return {
        kind: 'alter-view',
        change: { kind: 'alter-view', name, ...refreshOf(analysis, command) },
      };
    case 'REFRESH MATERIALIZED VIEW':
      return { kind: 'refresh-view', name };
    case 'DROP MATERIALIZED VIEW': {
      const ifExists = command.arguments.get('ifExists') === true;
      return { kind: 'drop-view', change: { kind: 'drop-view', name, ifExists } };
    }
    default:
      return undefined;
  }
}

function createView(analysis: Analysis, command: Command): Maintenance {
  const name = text(command, 'name');
  const argument = command.arguments.get('query');
  if (typeof argument !== 'object' || argument.kind !== 'statement')
    throw new DatabaseError('Syntax', `materialized view '${name}' has no query`);
  const statement = argument.value;
  requireReading(analysis, name, statement);
  const { plan } = analysis.query(statement, undefined);
  const sources = sourcesOf(analysis, plan);
  const buckets = command.arguments.get('buckets');
  return {
    kind: 'create-view',
    source: plan,
    change: {
      kind: 'create-view',
      name,
      ifNotExists: command.arguments.get('ifNotExists') === true,
      query: analysis.text.slice(statement.at, statement.end),
      ...refreshOf(analysis, command),
      isSimple: simpleSource(plan) !== undefined && !sources.readsAnyType,
      ...sources,
      bucketCount: typeof buckets === 'number' ? buckets : undefined,
    },
  };
}

const queries: ReadonlySet<string> = new Set<Statement['kind']>(['select', 'match', 'traverse']);

/** The query runs by itself, again and again: it must depend on nothing but records. */
function requireReading(analysis: Analysis, name: string, statement: Statement): void {
  const refuse = (problem: string): never => {
    throw new DatabaseError('IllegalArgument', `materialized view '${name}' ${problem}`);
  };
  if (!queries.has(statement.kind)) refuse('needs a query: SELECT, MATCH or TRAVERSE');
  for (const node of nodesOf(statement)) {
    if (node.kind === 'command' || isWriting(node)) refuse('must not write in its query');
    if (node.kind === 'call' && typeof node.name === 'string')
      if (analysis.catalog.definitions.functionNamed(node.name) !== undefined)
        refuse(`calls '${node.name}', which may change; write out what it computes`);
  }
  if (hasParameter(statement)) refuse('must not depend on parameters');
}

function hasParameter(tree: unknown): boolean {
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== 'object' || node === null) continue;
    if ('kind' in node && node.kind === 'parameter') return true;
    const parts = node instanceof Map ? node.values() : Object.values(node);
    for (const part of parts) waiting.push(part);
  }
  return false;
}

function refreshOf(
  analysis: Analysis,
  command: Command,
): { readonly refreshMode: RefreshMode; readonly refreshIntervalMs: number } {
  const mode = command.arguments.get('refresh') ?? 'MANUAL';
  if (mode !== 'EVERY')
    return { refreshMode: mode === 'INCREMENTAL' ? 'INCREMENTAL' : 'MANUAL', refreshIntervalMs: 0 };
  const count = Number(command.arguments.get('interval'));
  const unit = unitMs.get(text(command, 'unit')) ?? 1000;
  if (count < 1 || count * unit > longestIntervalMs)
    throw analysis.fault(command.at, 'REFRESH EVERY takes 1 second to 24 days');
  return { refreshMode: 'PERIODIC', refreshIntervalMs: count * unit };
}

const unitMs: ReadonlyMap<string, number> = new Map([
  ['SECOND', 1000],
  ['MINUTE', 60_000],
  ['HOUR', 3_600_000],
]);
/** What a timer can wait. */
const longestIntervalMs = 24 * 24 * 3_600_000;

/** The scan of a query that makes one row, or none, of each record of its one source; undefined for any other. */
export function simpleSource(plan: LogicalPlan): PlanNode<'TypeScan'> | undefined {
  let isSimple = true;
  walkPlan(plan, {
    plan(node) {
      if (!simpleNodes.has(node.op)) isSimple = false;
    },
    expression(part) {
      if (part.op === 'SubPlan' || part.op === 'Call') isSimple &&= part.op === 'Call';
    },
  });
  if (!isSimple) return undefined;
  let node = plan;
  while (node.op !== 'TypeScan') {
    const [input] = inputsOf(node);
    if (input === undefined) return undefined;
    node = input;
  }
  return node;
}

const simpleNodes: ReadonlySet<string> = new Set(['TypeScan', 'Filter', 'Project']);

/** The types whose changes may change the rows. */
function sourcesOf(
  { catalog }: Analysis,
  plan: LogicalPlan,
): { readonly sourceTypes: readonly string[]; readonly readsAnyType: boolean } {
  const found = new Set<TypeId>();
  let isKnown = true;
  const add = (types: readonly TypeId[] | undefined): void => {
    if (types === undefined) isKnown = false;
    for (const type of types ?? []) found.add(type);
  };
  const addMove = (move: Move): void => {
    if (move.kind === 'vertex' || move.kind === 'edge') add(move.types);
  };
  walkPlan(plan, {
    plan(node) {
      switch (node.op) {
        case 'TypeScan':
          return add(node.types);
        case 'BucketScan':
          return add(node.buckets.flatMap((id) => catalog.bucketWithId(id)?.type ?? []));
        case 'Match':
          for (const { types } of node.pattern.nodes) add(types);
          for (const { move, path } of node.pattern.steps) {
            addMove(move);
            for (const step of path?.moves ?? []) addMove(step.move);
          }
          return;
        default:
          if (unknownSources.has(node.op)) isKnown = false;
      }
    },
  });
  if (mayFollowLinks(plan)) isKnown = false;
  const isCovered = (type: TypeId): boolean =>
    catalog.typeWithId(type).supertypes.some((supertype) => found.has(supertype));
  const named = [...found].filter((type) => !isCovered(type));
  return {
    sourceTypes: named.map((type) => catalog.typeWithId(type).name),
    readsAnyType: !isKnown,
  };
}

/**
 * True when the rows may show more of a record than of those that sources give: a link, an end of an edge or a function may lead
 * anywhere. What is read of anything but such a record counts as read through a link.
 */
function mayFollowLinks(plan: LogicalPlan): boolean {
  const records = recordSlots(plan);
  const isRecord = (value: Expression | undefined): boolean =>
    value?.op === 'Slot' && records.has(value.slot);
  let follows = false;
  walkPlan(plan, {
    expression(part) {
      if (part.op === 'Property' || part.op === 'Attribute' || part.op === 'IsDefined')
        follows ||= !isRecord(part.of);
      else if (part.op === 'NestedProjection') follows ||= !isRecord(part.of);
      else if (part.op === 'Element') follows ||= part.keys.some(mayBeName) && !isRecord(part.of);
      else if (part.op === 'Call' && readingCalls.test(part.function))
        follows ||= !part.function.startsWith('.') || !isRecord(part.arguments[0]);
      else if (part.op === 'Call' && movingCalls.test(part.function)) follows = true;
    },
  });
  return follows;
}

/** Slots that hold a record of a source, under whichever name. */
function recordSlots(plan: LogicalPlan): ReadonlySet<Slot> {
  const records = new Set<Slot>();
  let before = -1;
  const add = (slot: Slot, value: Expression): void => {
    if (value.op === 'Slot' && records.has(value.slot)) records.add(slot);
  };
  while (records.size > before) {
    before = records.size;
    walkPlan(plan, {
      plan(node) {
        if (node.op === 'TypeScan' || node.op === 'BucketScan') records.add(node.as);
        if (node.op === 'Match') for (const { slot } of node.pattern.nodes) records.add(slot);
        if (node.op === 'Project') for (const { slot, value } of node.columns) add(slot, value);
      },
      expression(part) {
        if (part.op === 'NestedProjection') add(part.element, part.of);
      },
    });
  }
  return records;
}

/** A position leads to no property. */
function mayBeName(key: Expression): boolean {
  return key.op !== 'Constant' || typeof key.value === 'string';
}

const movingCalls = /^\.?(out|in|both)(E|V)?$/iu;
/** As functions, or of what may be a link, they read records. */
const readingCalls =
  /^(shortestPath|dijkstra|astar|bellmanFord|duanSSSP|\.(asRecord|include|exclude|toJSON|asJSON|asMap|keys|values|field|transform))$/iu;

const unknownSources: ReadonlySet<string> = new Set([
  'RecordLookup',
  'DynamicSource',
  'IndexSearch',
  'IndexEntries',
  'SchemaScan',
  'ExpandValue',
  'Expand',
  'ExpandPath',
  'Traverse',
  'Call',
]);

function text(command: Command, argument: string): string {
  const value = command.arguments.get(argument);
  return typeof value === 'string' ? value : '';
}
