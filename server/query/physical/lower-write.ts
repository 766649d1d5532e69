import { makeAlterSchema, makeMaintain } from '../operators/flow/awaited-rows.ts';
import { DatabaseError } from '#core/errors.ts';
import { madeOnce, mapLong } from '#core/replayed-loops.ts';
import type { Slot } from '../algebra/expression.ts';
import type { Assignment, LogicalPlan, PathElement, PlanNode } from '../algebra/plan.ts';
import { valueOfSet } from '../algebra/set-value.ts';
import { freeSlots, slotsOf, slotsReadBy } from '../algebra/slots.ts';
import type { CompiledAssignment, CompiledPathElement } from '../operators/write/assignments.ts';
import { CallOperator } from '../operators/flow/call.ts';
import { CommitEveryOperator } from '../operators/write/commit-every.ts';
import { ChangeRecordsOperator } from '../operators/write/change-records.ts';
import { Deletion } from '../operators/write/delete.ts';
import { EagerOperator } from '../operators/flow/eager.ts';
import { FindOrInsertOperator } from '../operators/write/find-or-insert.ts';
import { InsertEdgeOperator } from '../operators/write/insert-edge.ts';
import { InsertOperator } from '../operators/write/insert.ts';
import { DeleteEntitiesOperator } from '../operators/write/delete-entities.ts';
import { InsertAllOperator } from '../operators/write/insert-all.ts';
import { MergeOperator } from '../operators/write/merge.ts';
import { SetLabelsOperator } from '../operators/write/set-labels.ts';
import { VertexMove } from '../operators/write/move-vertex.ts';
import { resolveMove } from '../operators/graph/neighbour-cursor.ts';
import { ProfileOperator } from '../operators/flow/profile.ts';
import { RestoreRecordOperator } from '../operators/write/restore-record.ts';
import { UpdateOperator } from '../operators/write/update.ts';
import { allEdges } from './lower-graph.ts';
import {
  compileValue,
  descriptionOf,
  keptSlots,
  withSlots,
  type Lowering,
  type OperatorFactory,
  type RequiredSlots,
} from './lowering.ts';

export type WriteOp =
  | 'Insert'
  | 'InsertEdge'
  | 'Update'
  | 'Delete'
  | 'FindOrInsert'
  | 'Alter'
  | 'Maintain'
  | 'MoveVertex'
  | 'SetLabels'
  | 'RestoreRecord'
  | 'CommitEvery'
  | 'Profile'
  | 'Merge'
  | 'InsertAll'
  | 'Call';

/** Operators for the nodes that write, and for procedures. */
export function lowerWrite(
  plan: PlanNode<WriteOp>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const needed = withSlots(required, slotsReadBy(plan));
  const description = descriptionOf(lowering, plan);
  switch (plan.op) {
    case 'Insert': {
      const { type, bucket, as } = plan;
      const input = lowering.lower(plan.input, needed);
      const assignments = compileAssignments(plan.assignments, as, lowering);
      const { dialect, labelCount } = plan;
      const options = { type, bucket, as, assignments, description, dialect, labelCount };
      return () => new InsertOperator({ ...options, input: input() });
    }
    case 'InsertEdge':
      return lowerInsertEdge(plan, needed, lowering);
    case 'Update': {
      const { record, before, applyDefaults, dialect } = plan;
      const input = lowerTargets(plan.input, record, needed, lowering);
      const assignments = compileAssignments(plan.assignments, record, lowering);
      const options = { record, before, applyDefaults, assignments, description, dialect };
      const { unless } = plan;
      return () => new UpdateOperator({ ...options, unless, input: input() });
    }
    case 'Delete': {
      const { record, detach } = plan;
      const input = lowerTargets(plan.input, record, needed, lowering);
      const edges = resolveMove(allEdges, lowering.catalog);
      const options = { record, detach, edges, description };
      if (plan.dialect === 'cypher')
        return () => new DeleteEntitiesOperator({ ...options, input: input() });
      const change = { record, name: 'Delete', description };
      return () => new ChangeRecordsOperator({ ...change, input: input() }, new Deletion(options));
    }
    case 'FindOrInsert': {
      const { type, as, inserted } = plan;
      const find = lowering.lower(plan.find, needed);
      const initial = compileAssignments(plan.initial, as, lowering);
      const options = { type, initial, as, inserted, description };
      return () => new FindOrInsertOperator({ ...options, find: find() });
    }
    case 'Alter': {
      return () => makeAlterSchema(plan);
    }
    case 'MoveVertex': {
      const { record, type, bucket, as } = plan;
      const input = lowerTargets(plan.input, record, needed, lowering);
      const assignments = compileAssignments(plan.assignments, as, lowering);
      const options = { type, bucket, as, assignments };
      const change = { record, name: 'Move vertex', description };
      return () =>
        new ChangeRecordsOperator({ ...change, input: input() }, new VertexMove(options));
    }
    case 'SetLabels': {
      const { record, mode, labels } = plan;
      const input = lowerTargets(plan.input, record, needed, lowering);
      const change = { mode, labels };
      return () => new SetLabelsOperator({ record, change, description, input: input() });
    }
    case 'RestoreRecord':
      return lowerRestore(plan, needed, lowering);
    case 'CommitEvery': {
      const input = lowering.lower(plan.input, needed);
      const count = compileValue(lowering, plan.count);
      return () => new CommitEveryOperator(input(), count, description);
    }
    case 'Profile': {
      const input = lowering.described().lower(plan.input, slotsOf(plan.input));
      const { as } = plan;
      return () => new ProfileOperator(input, as);
    }
    case 'Maintain': {
      const { work, as } = plan;
      return () => makeMaintain(work, as);
    }
    case 'InsertAll':
      return lowerInsertAll(plan, needed, lowering);
    case 'Merge':
      return lowerMerge(plan, needed, lowering);
    default:
      return lowerCall(plan, needed, lowering);
  }
}

/** A write reads its records again, so of the rows that were gathered before it the ids are enough. */
function lowerTargets(
  plan: LogicalPlan,
  record: Slot,
  needed: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  if (plan.op !== 'Eager' || plan.isLive === true) return lowering.lower(plan, needed);
  const input = lowering.lower(plan.input, withSlots(needed, plan.slots));
  const slots = keptSlots(withSlots(needed, plan.slots), slotsOf(plan.input));
  return lowering.paced(plan, () => new EagerOperator(input(), slots, new Set([record])));
}

function lowerInsertAll(
  plan: PlanNode<'InsertAll'>,
  needed: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const reads = mapLong(plan.steps, freeSlots);
  const all = madeOnce(() =>
    withSlots(
      needed,
      reads.flatMap((slots) => [...slots]),
    ),
  );
  const input = lowering.lower(plan.input, all);
  const inner = lowering.inner();
  const steps = mapLong(plan.steps, (step) => inner.lower(step, all));
  const description = descriptionOf(lowering, plan);
  return () => new InsertAllOperator(input(), steps, description);
}

function lowerMerge(
  plan: PlanNode<'Merge'>,
  needed: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const { match, create, as } = plan;
  const reads = [...freeSlots(match.plan), ...freeSlots(create.plan)];
  const input = lowering.lower(plan.input, withSlots(needed, reads));
  const inner = lowering.inner();
  const found = inner.lower(match.plan, new Set(match.slots));
  const made = inner.lower(create.plan, new Set(create.slots));
  const options = {
    as,
    notNull: plan.notNull.map((value) => compileValue(lowering, value)),
    description: descriptionOf(lowering, plan),
  };
  return () =>
    new MergeOperator({
      ...options,
      input: input(),
      match: { plan: found(), slots: match.slots },
      create: { plan: made(), slots: create.slots },
    });
}

function lowerRestore(
  plan: PlanNode<'RestoreRecord'>,
  needed: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const input = lowering.lower(plan.input, needed);
  const { type, as, ends } = plan;
  const options = {
    type,
    as,
    rid: compileValue(lowering, plan.rid),
    ends: ends && { from: compileValue(lowering, ends.from), to: compileValue(lowering, ends.to) },
    assignments: compileAssignments(plan.assignments, as, lowering),
    description: descriptionOf(lowering, plan),
  };
  return () => new RestoreRecordOperator({ ...options, input: input() });
}

function lowerInsertEdge(
  plan: PlanNode<'InsertEdge'>,
  needed: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const input = lowering.lower(plan.input, needed);
  const options = {
    type: plan.type,
    bucket: plan.bucket,
    from: compileValue(lowering, plan.from),
    to: compileValue(lowering, plan.to),
    ifNotExists: plan.ifNotExists,
    unidirectional: plan.unidirectional,
    assignments: compileAssignments(plan.assignments, plan.as, lowering),
    as: plan.as,
    dialect: plan.dialect,
    description: descriptionOf(lowering, plan),
  };
  return () => new InsertEdgeOperator({ ...options, input: input() });
}

function lowerCall(
  plan: PlanNode<'Call'>,
  needed: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const procedure = lowering.procedures.procedure(plan.procedure);
  if (procedure === undefined)
    throw new DatabaseError('CommandExecution', `Unknown procedure name '${plan.procedure}'`);
  const input = lowering.lower(plan.input, needed);
  const options = {
    procedure,
    arguments: plan.arguments.map((part) => compileValue(lowering, part)),
    yields: plan.yields,
    description: descriptionOf(lowering, plan),
  };
  return () => new CallOperator({ ...options, input: input() });
}

/** `a += b` becomes the value `a + b`, read from the record as changed so far. */
function compileAssignments(
  assignments: readonly Assignment[],
  record: Slot,
  lowering: Lowering,
): readonly CompiledAssignment[] {
  return mapLong(assignments, (assignment): CompiledAssignment => {
    if (assignment.kind === 'merge' || assignment.kind === 'content')
      return {
        kind: assignment.kind,
        value: compileValue(lowering, assignment.value),
        entryTypes:
          assignment.entryTypes &&
          new Map(
            assignment.entryTypes.map(({ key, type }) => [key, compileValue(lowering, type)]),
          ),
      };
    if (assignment.kind === 'entry')
      return {
        kind: 'entry',
        key: compileValue(lowering, assignment.key),
        value: compileValue(lowering, assignment.value),
      };
    const { property } = assignment;
    const path = assignment.path.map((element) => compilePathElement(element, lowering));
    if (assignment.kind === 'remove') {
      const value = assignment.value && compileValue(lowering, assignment.value);
      return { kind: 'remove', property, path, value };
    }
    return {
      kind: 'set',
      property,
      path,
      value: compileValue(lowering, valueOfSet(assignment, record)),
      valueType: assignment.valueType && compileValue(lowering, assignment.valueType),
    };
  });
}

function compilePathElement(element: PathElement, lowering: Lowering): CompiledPathElement {
  return element.kind === 'property'
    ? element
    : { kind: 'element', key: compileValue(lowering, element.key) };
}

export function isWrite(plan: LogicalPlan): plan is PlanNode<WriteOp> {
  return writeOps.has(plan.op);
}

const writeOps: ReadonlySet<string> = new Set<WriteOp>([
  'Insert',
  'InsertEdge',
  'Update',
  'Delete',
  'FindOrInsert',
  'Alter',
  'Maintain',
  'MoveVertex',
  'SetLabels',
  'RestoreRecord',
  'CommitEvery',
  'Profile',
  'Merge',
  'InsertAll',
  'Call',
]);
