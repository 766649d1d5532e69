import type { Effect } from '#core/effects.ts';
import { type PausingWork, toEnd } from '#core/pausing-work.ts';
import type { Access } from '#core/principal.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Catalog } from '#catalog/catalog.ts';
import { isScripting } from '#catalog/change/definition-changes.ts';
import { fullName } from '#catalog/definitions.ts';
import { effectsOfMaintenance, typesOfMaintenance } from './maintenance.ts';
import { type Command, type CommandsProgram, isReadingCommand } from './commands.ts';
import { walkPlan } from './plan-walk.ts';
import { walkPlanInSteps } from './plan-walk-in-steps.ts';
import type { Expression } from './expression.ts';
import type { LogicalPlan, PlanOp } from './plan.ts';
import type { Program } from './program.ts';

/**
 * The only judge of what a program may do. It looks at every node of the plan, those of sub-plans in expressions included;
 * the table is total, so a new node does not compile before someone decided what it does.
 */
const effectsOfNode: { readonly [Op in PlanOp]: readonly Effect[] } = {
  Argument: [],
  TypeScan: ['read'],
  BucketScan: ['read'],
  RecordLookup: ['read'],
  DynamicSource: ['read'],
  IndexSearch: ['read'],
  IndexUnion: ['read'],
  RecordCount: ['read'],
  IndexEntries: ['read'],
  SchemaScan: ['read'],
  Filter: [],
  Project: [],
  Unwind: [],
  ExpandValue: ['read'],
  Distinct: [],
  Sort: [],
  Skip: [],
  Limit: [],
  Drain: [],
  Aggregate: [],
  Union: [],
  TimeLimit: [],
  Eager: [],
  Apply: [],
  Match: ['read'],
  Expand: ['read'],
  Degree: ['read'],
  BranchCount: ['read'],
  ExpandPath: ['read'],
  FollowEdges: ['read'],
  Traverse: ['read'],
  Insert: ['insert'],
  InsertEdge: ['insert'],
  Update: ['update'],
  Delete: ['delete'],
  /** House decision 77. */
  MoveVertex: ['insert', 'update', 'delete'],
  /** Of types, too, when it must make them, for which whoever runs it asks. */
  SetLabels: ['update'],
  RestoreRecord: ['insert'],
  CommitEvery: [],
  Profile: [],
  FindReferences: ['read'],
  FindOrInsert: ['read', 'insert'],
  Merge: [],
  InsertAll: [],
  Alter: ['schema'],
  /** And what its work does: `effectsOfWork`. */
  Maintain: [],
  Call: ['read'],
};

/** What procedures and functions do beyond reading, by registry name; both registries fill it when they add a writing one. */
export interface WritingNames {
  readonly procedures: ReadonlyMap<string, readonly Effect[]>;
  readonly functions: ReadonlyMap<string, readonly Effect[]>;
}

const noWritingNames: WritingNames = { procedures: new Map(), functions: new Map() };

/**
 * What running the program may do; always contains `read`. A script is judged statement by statement by the script runner;
 * here it counts as whatever a script can do. Operations (BACKUP, EXPORT, IMPORT) see or
 * change everything, whatever the rights on types, so they are `security` (security.md 4.3).
 */
export function effectsOf(program: Program, writing?: WritingNames): ReadonlySet<Effect> {
  return toEnd(effectsInSteps(program, writing));
}

/** As `effectsOf`, with pauses in long plans. */
export function* effectsInSteps(
  program: Program,
  writing?: WritingNames,
): PausingWork<ReadonlySet<Effect>> {
  if (program.kind === 'operation') return new Set<Effect>(['read', 'security']);
  if (program.kind === 'script')
    return new Set<Effect>(['read', 'insert', 'update', 'delete', 'schema']);
  if (program.kind === 'commands') return effectsOfCommands(program);
  if (program.missingTypes !== undefined) return new Set<Effect>(['read', 'insert']);
  return yield* effectsOfPlanInSteps(program.plan, writing);
}

/** What all of its commands do, those of blocks, too. */
function effectsOfCommands({ units }: CommandsProgram): ReadonlySet<Effect> {
  const effects = new Set<Effect>(['read']);
  const add = (command: Command): void => {
    for (const effect of isReadingCommand(command) ? [] : writtenBy(command)) effects.add(effect);
  };
  for (const unit of units) {
    if (unit.kind === 'single') add(unit.command);
    else unit.commands.forEach(add);
  }
  return effects;
}

function writtenBy(command: Command): readonly Effect[] {
  const deletes =
    command.kind === 'take' ||
    command.kind === 'delete' ||
    (command.kind === 'records' && command.does === 'delete');
  return deletes ? ['delete'] : ['insert', 'update'];
}

/** As `effectsOf`, for a plan. */
export function effectsOfPlan(plan: LogicalPlan, writing?: WritingNames): ReadonlySet<Effect> {
  return toEnd(effectsOfPlanInSteps(plan, writing));
}

/** As `effectsInSteps`, for a plan. */
export function* effectsOfPlanInSteps(
  plan: LogicalPlan,
  writing: WritingNames = noWritingNames,
): PausingWork<ReadonlySet<Effect>> {
  const effects = new Set<Effect>(['read']);
  const add = (more: readonly Effect[] | undefined): void => {
    for (const effect of more ?? []) effects.add(effect);
  };
  yield* walkPlanInSteps(plan, {
    plan(node) {
      add(effectsOfNode[node.op]);
      add(effectsOfWork(node));
      if (node.op === 'Call') add(node.effects ?? writing.procedures.get(node.procedure));
    },
    expression(part) {
      if (part.op === 'Call') add(writing.functions.get(part.function));
    },
  });
  return effects;
}

/**
 * What the program touches, effect by effect, for authorization: named types, and `types: undefined` where the plan does not
 * tell what else it will meet (record ids, links, graph moves). Whoever runs it needs the right on all types then, unless
 * records are judged one by one while it runs (`record-guard.ts`).
 */
export function accessesOf(program: Program, catalog: Catalog): readonly Access[] {
  return toEnd(accessesInSteps(program, catalog));
}

/** As `accessesOf`, with pauses in long plans. */
export function* accessesInSteps(
  program: Program,
  catalog: Catalog,
): PausingWork<readonly Access[]> {
  if (program.kind !== 'query') return [{ effects: effectsOf(program), types: undefined }];
  if (program.missingTypes !== undefined)
    return [
      { effects: new Set<Effect>(['insert']), types: program.missingTypes.map(({ name }) => name) },
      { effects: new Set<Effect>(['schema']), types: [] },
      ...(merges(program.plan) ? [{ effects: new Set<Effect>(['update']), types: [] }] : []),
    ];
  const touched = new Map<Effect, Touched>();
  yield* walkPlanInSteps(program.plan, {
    plan(node) {
      for (const effect of effectsOfNode[node.op])
        touch(touched, effect, typesOf(node, catalog, effect));
      if (node.op === 'Call')
        for (const effect of node.effects ?? []) touch(touched, effect, undefined);
      if (node.op === 'Merge') touch(touched, 'update', []);
      if (dropsScript(node, catalog)) touch(touched, 'security', []);
      if (isPlainCheck(node)) touch(touched, 'read', []);
      else
        for (const effect of effectsOfWork(node))
          touch(touched, effect, typesOf(node, catalog, effect));
    },
    expression(part) {
      if (mayMeetRecords(part)) touch(touched, 'read', undefined);
    },
  });
  if (touched.size === 0) return [{ effects: new Set<Effect>(['read']), types: [] }];
  return [...touched].flatMap(([effect, { names, isOpen }]) => {
    const effects = new Set([effect]);
    const named = names.size > 0 || !isOpen ? [{ effects, types: [...names] }] : [];
    return isOpen ? [...named, { effects, types: undefined }] : named;
  });
}

/** MERGE counts as insert and update, even when nothing is set (mcp.md 5). Rights on types are asked for by what is set. */
function merges(plan: LogicalPlan): boolean {
  let found = false;
  walkPlan(plan, {
    plan(node) {
      found ||= node.op === 'Merge';
    },
  });
  return found;
}

/** A script is taken away, or replaced by something else, only by who might have made it. */
function dropsScript(node: LogicalPlan, catalog: Catalog): boolean {
  if (node.op !== 'Alter') return false;
  const { change } = node;
  if (change.kind === 'drop-trigger')
    return catalog.definitions.trigger(change.name)?.language !== undefined;
  if (change.kind !== 'delete-function') return false;
  return catalog.definitions.functionNamed(fullName(change))?.language === 'js';
}

/** CHECK DATABASE without FIX changes nothing, though it is no query: access to the database is enough (security.md 4.3). */
function isPlainCheck(node: LogicalPlan): boolean {
  return node.op === 'Maintain' && node.work.kind === 'check-database' && !node.work.fix;
}

/** What a statement on the schema or the whole database does beyond what its node says. */
function effectsOfWork(node: LogicalPlan): readonly Effect[] {
  if (node.op === 'Maintain') return effectsOfMaintenance[node.work.kind];
  if (node.op === 'Alter' && isScripting(node.change)) return ['security'];
  if (node.op !== 'Alter' || node.change.kind !== 'alter-type') return [];
  // sql.md 16.8: the strategy is a setting of the database, too.
  return node.change.items.some((item) => item.kind === 'bucket-strategy') ? ['settings'] : [];
}

/** Functions that walk the graph by themselves. */
const navigating: ReadonlySet<string> = new Set(
  ['out', 'in', 'both', 'outE', 'inE', 'bothE', 'outV', 'inV', 'bothV'].flatMap((name) => [
    name,
    `.${name}`,
  ]),
);

/** Functions that read the record that a link names. */
const reading: ReadonlySet<string> = new Set([
  ...['.asRecord', '.include', '.exclude', '.field', '.keys', '.values', 'eval'],
  ...['shortestPath', 'dijkstra', 'astar', 'bellmanFord'],
]);

/** Whether the value of an expression may come from a record that nothing before it has read: a link is followed. */
function mayMeetRecords(part: Expression): boolean {
  switch (part.op) {
    case 'Call':
      return navigating.has(part.function) || reading.has(part.function);
    case 'Property':
    case 'IsDefined':
      return !isAtHand(part.of);
    case 'Attribute':
      return part.attribute !== 'rid' && !isAtHand(part.of);
    case 'IsOfType':
      return !isAtHand(part.operand);
    case 'NestedProjection':
      return true;
    case 'Element':
      return part.keys.some((key) => key.op !== 'Constant' || typeof key.value === 'string');
    default:
      return false;
  }
}

/** A row, or the record that a trigger is given. */
function isAtHand({ op }: Expression): boolean {
  return op === 'Slot' || op === 'Variable' || op === 'Parameter';
}

/** Types that an effect touches. */
interface Touched {
  readonly names: Set<string>;
  /** And others, which the plan does not tell. */
  isOpen: boolean;
}

function touch(
  touched: Map<Effect, Touched>,
  effect: Effect,
  names: readonly string[] | undefined,
): void {
  const known = touched.get(effect) ?? { names: new Set<string>(), isOpen: false };
  touched.set(effect, known);
  if (names === undefined) known.isOpen = true;
  else for (const name of names) known.names.add(name);
}

/** @param effect which of those that the node has */
function typesOf(
  node: LogicalPlan,
  catalog: Catalog,
  effect: Effect,
): readonly string[] | undefined {
  const named = (types: readonly TypeId[]): readonly string[] =>
    types.map((type) => catalog.typeWithId(type).name);
  switch (node.op) {
    case 'TypeScan':
    case 'IndexSearch':
    case 'IndexUnion':
      return named(node.types);
    case 'RecordCount':
    case 'BucketScan': {
      const buckets = node.buckets ?? [];
      const types = node.op === 'RecordCount' && !node.buckets ? node.types : [];
      const owners = buckets.map((bucket) => catalog.bucketWithId(bucket)?.type);
      return named([...types, ...owners.filter((type) => type !== undefined)]);
    }
    case 'RecordLookup':
      return node.types && named(node.types);
    case 'IndexEntries':
      return named([catalog.indexWithId(node.index).type]);
    case 'SchemaScan':
      return [];
    case 'Match': {
      const nodes = node.pattern.nodes;
      if (nodes.some((part) => part.types === undefined)) return undefined;
      return named(nodes.flatMap((part) => part.types ?? []));
    }
    case 'Expand':
    case 'FollowEdges':
      return node.toTypes && named(node.toTypes);
    case 'Insert':
    case 'InsertEdge':
    case 'FindOrInsert':
      return named([node.type]);
    case 'Maintain': {
      const types = typesOfMaintenance(node.work);
      return types && named(types);
    }
    case 'MoveVertex':
      return effect === 'insert'
        ? named([node.type])
        : recordTypes(node.input, node.record, catalog);
    case 'RestoreRecord':
      return named([node.type]);
    case 'FindReferences': {
      const owners = node.buckets.map((bucket) => catalog.bucketWithId(bucket)?.type);
      return named([...new Set(owners.filter((type) => type !== undefined))]);
    }
    case 'Update':
    case 'SetLabels':
    case 'Delete':
      return recordTypes(node.input, node.record, catalog);
    default:
      return undefined;
  }
}

/** Types of the records in a slot, when the source that fills it says so. */
function recordTypes(
  plan: LogicalPlan,
  slot: number,
  catalog: Catalog,
): readonly string[] | undefined {
  let found: readonly string[] | undefined;
  walkPlan(plan, {
    plan(node) {
      if ('as' in node && node.as === slot) found = typesOf(node, catalog, 'read');
    },
  });
  return found;
}
