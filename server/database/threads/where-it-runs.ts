import { type PausingWork, toEnd } from '#core/pausing-work.ts';
import { foldAscii } from '#core/text/case-folding.ts';
import type { IndexId } from '#core/value/rid.ts';
import type { Catalog } from '#catalog/catalog.ts';
import type { Expression } from '#query/algebra/expression.ts';
import { walkPlanInSteps } from '#query/algebra/plan-walk-in-steps.ts';
import type { LogicalPlan, PlanOp, QueryProgram } from '#query/algebra/plan.ts';
import { geoSearchFunctions } from '#query/functions/search/geo-functions.ts';
import { sparseSearchFunctions } from '#query/functions/search/sparse-functions.ts';
import { textSearchFunctions } from '#query/functions/search/text-functions.ts';
import { vectorSearchFunctions } from '#query/functions/search/vector-functions.ts';
import { userFunctions } from '#query/functions/user-function.ts';
import { scoreFunctions } from '#query/functions/vector/scores.ts';
import { rowCapVariable } from '../statement/context.ts';

/** What runs on the main thread only, by node: a text says why. The table is total, so someone decides about a new node. */
const staysForNode: { readonly [Op in PlanOp]: string | undefined } = {
  Argument: undefined,
  TypeScan: undefined,
  BucketScan: undefined,
  RecordLookup: undefined,
  DynamicSource: undefined,
  IndexSearch: undefined,
  IndexUnion: undefined,
  RecordCount: undefined,
  IndexEntries: undefined,
  SchemaScan: 'it reads the schema',
  Filter: undefined,
  Project: undefined,
  Unwind: undefined,
  ExpandValue: undefined,
  Distinct: undefined,
  Sort: undefined,
  Skip: undefined,
  Limit: undefined,
  Drain: undefined,
  Aggregate: undefined,
  Union: undefined,
  TimeLimit: undefined,
  Eager: undefined,
  Apply: undefined,
  Match: undefined,
  Expand: undefined,
  Degree: undefined,
  BranchCount: undefined,
  ExpandPath: undefined,
  FollowEdges: undefined,
  Traverse: undefined,
  FindReferences: 'it looks for references',
  Insert: 'it writes',
  InsertEdge: 'it writes',
  Update: 'it writes',
  Delete: 'it writes',
  MoveVertex: 'it writes',
  SetLabels: 'it writes',
  RestoreRecord: 'it writes',
  CommitEvery: 'it writes',
  Profile: 'it is measured',
  FindOrInsert: 'it writes',
  Merge: 'it writes',
  InsertAll: 'it writes',
  Alter: 'it writes',
  Maintain: 'it writes',
  Call: 'it calls a procedure',
};

/** One for all spellings: `vector.x` is also `vectorX`, and some carry `apoc.`. */
function plainName(name: string): string {
  return foldAscii(name)
    .replace(/^apoc\./, '')
    .replaceAll('.', '');
}

/** Functions that look at what the main thread keeps: memory of searches, bodies of functions, texts that are compiled. */
const functionsHere: ReadonlySet<string> = new Set(
  [
    ...[
      textSearchFunctions,
      vectorSearchFunctions,
      sparseSearchFunctions,
      geoSearchFunctions,
      scoreFunctions,
      userFunctions,
    ].flatMap((family) => family.map(({ name }) => name)),
    'eval',
  ].map(plainName),
);

const known = new WeakMap<QueryProgram, { readonly why: string | undefined }>();

/**
 * Why a plan that only reads must run on the main thread; undefined: any thread that has the database open may run it.
 * Cost: a walk through the plan, once.
 */
export function staysHereFor(program: QueryProgram, catalog: Catalog): string | undefined {
  return toEnd(staysHereInSteps(program, catalog));
}

/** As `staysHereFor`, with pauses in the walk. */
export function* staysHereInSteps(
  program: QueryProgram,
  catalog: Catalog,
): PausingWork<string | undefined> {
  let found = known.get(program);
  if (found === undefined) {
    found = { why: yield* reasonIn(program.plan, catalog) };
    known.set(program, found);
  }
  return found.why;
}

function* reasonIn(plan: LogicalPlan, catalog: Catalog): PausingWork<string | undefined> {
  let why: string | undefined;
  yield* walkPlanInSteps(plan, {
    plan(node) {
      why ??= staysForNode[node.op];
      if (node.op === 'IndexSearch' || node.op === 'IndexEntries')
        why ??= reasonOfIndex(node.index, catalog);
    },
    expression(part) {
      why ??= reasonOfExpression(part);
    },
  });
  return why;
}

/** Searches keep what they have read in the memory of the main thread. */
function reasonOfIndex(index: IndexId, catalog: Catalog): string | undefined {
  return catalog.indexWithId(index).kind === 'LSM_TREE' ? undefined : 'it searches an index';
}

function reasonOfExpression(part: Expression): string | undefined {
  if (part.op === 'Variable' && part.name !== rowCapVariable) return 'it reads a variable';
  if (part.op === 'Call' && functionsHere.has(plainName(part.function)))
    return `it calls ${part.function}()`;
  return undefined;
}
