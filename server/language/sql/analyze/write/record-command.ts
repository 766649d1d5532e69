import type { TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Slot } from '#query/algebra/expression.ts';
import type { Assignment } from '#query/algebra/plan.ts';
import { QueryScope, type Scope } from '#query/binder/scope.ts';
import type { Expression } from '../../ast.ts';
import type { Command, Target, UpdateOperation } from '../../statements.ts';
import { type Analysis, type AnalyzedQuery, rowEnvironment } from '../analysis.ts';
import { withoutParentheses } from '../expression/condition.ts';
import { textArgument } from '../maintain.ts';
import { bucketIds } from '../target.ts';
import { assignmentsOf, commitEvery, recordsToChange } from './update.ts';
import { newRecordEnvironment, writtenRows } from './write.ts';

/** MOVE VERTEX, RESTORE and FIND REFERENCES (sql.md 10.3, 16.2, 16.7); undefined for another command. */
export function analyzeRecordCommand(
  analysis: Analysis,
  node: Command,
  parent: Scope | undefined,
): AnalyzedQuery | undefined {
  switch (node.name) {
    case 'MOVE VERTEX':
      return moveVertex(analysis, node, parent);
    case 'FIND REFERENCES':
      return findReferences(analysis, node, parent);
    case 'RESTORE DOCUMENT':
    case 'RESTORE VERTEX':
    case 'RESTORE EDGE':
      return restore(analysis, node, parent);
    default:
      return undefined;
  }
}

function moveVertex(analysis: Analysis, node: Command, parent: Scope | undefined): AnalyzedQuery {
  const { type, bucket } = destinationOf(analysis, node);
  const scope = new QueryScope(parent);
  const target = targetOf(expressionArgument(node, 'source') as Expression);
  const record = recordsToChange(analysis, { target, where: undefined, limit: undefined }, scope);
  const as = analysis.slots.next();
  const assignments = operationArgument(analysis, node, scope, as);
  analysis.writeCount += 1;
  scope.stage((input) => ({
    op: 'MoveVertex',
    input: { op: 'Eager', input, slots: [record] },
    record,
    type: type.id,
    bucket,
    assignments,
    as,
  }));
  commitEvery(analysis, scope, expressionArgument(node, 'batch'));
  return writtenRows(analysis, scope, as, undefined);
}

/** A bucket gives the type it belongs to. */
function destinationOf(
  analysis: Analysis,
  node: Command,
): { readonly type: TypeDefinition; readonly bucket: BucketId | undefined } {
  if (node.arguments.has('type')) {
    const type = analysis.type(textArgument(node, 'type'));
    return { type: requireKind(type, 'vertex', node), bucket: undefined };
  }
  const reference = node.arguments.get('bucket') as string | number;
  const [bucket] = bucketIds(analysis, [reference]) as [BucketId];
  const owner = analysis.catalog.bucketWithId(bucket)?.type;
  if (owner === undefined)
    throw new DatabaseError('Schema', `Bucket '${reference}' does not belong to a type`);
  return { type: requireKind(analysis.catalog.typeWithId(owner), 'vertex', node), bucket };
}

function requireKind(
  type: TypeDefinition,
  kind: TypeDefinition['kind'],
  node: Command,
): TypeDefinition {
  if (type.kind === kind) return type;
  throw new DatabaseError(
    'IllegalArgument',
    `${node.name}: '${type.name}' is a ${type.kind} type, not a ${kind} type`,
  );
}

/** One record id, a list of these, or a sub-query. */
function targetOf(source: Expression): Target {
  const inner = withoutParentheses(source);
  if (inner.kind === 'subQuery') return { kind: 'subQuery', statement: inner.statement };
  if (inner.kind === 'list') return { kind: 'rids', rids: inner.items };
  return { kind: 'value', value: source };
}

function restore(analysis: Analysis, node: Command, parent: Scope | undefined): AnalyzedQuery {
  const kind = node.name.slice('RESTORE '.length).toLowerCase() as TypeDefinition['kind'];
  const type = requireKind(analysis.type(textArgument(node, 'type')), kind, node);
  const scope = new QueryScope(parent);
  const env = rowEnvironment(scope);
  const value = (name: string) =>
    analysis.expression(expressionArgument(node, name) as Expression, env);
  const as = analysis.slots.next();
  const rid = value('rid');
  const ends = kind === 'edge' ? { from: value('from'), to: value('to') } : undefined;
  const assignments = operationArgument(analysis, node, scope, as);
  analysis.writeCount += 1;
  scope.stage((input) => ({
    op: 'RestoreRecord',
    input,
    type: type.id,
    rid,
    ends,
    assignments,
    as,
  }));
  const record = { op: 'Slot', slot: as } as const;
  const sizeOf = (move: string) =>
    ({
      op: 'Call',
      function: '.size',
      arguments: [{ op: 'Call', function: move, arguments: [record] }],
    }) as const;
  const attribute = (name: string) =>
    ({ op: 'Property', of: record, name, dialect: 'sql' }) as const;
  const columns = [
    ['operation', { op: 'Constant', value: node.name.toLowerCase() } as const],
    ['record', record],
    ...(kind === 'vertex'
      ? [
          ['reconnectedOutEdges', sizeOf('.outE')],
          ['reconnectedInEdges', sizeOf('.inE')],
        ]
      : []),
    ...(kind === 'edge'
      ? [
          ['out', attribute('@out')],
          ['in', attribute('@in')],
        ]
      : []),
  ] as const;
  const made = columns.map(([name, computed]) => ({
    name: name as string,
    slot: analysis.slots.next(),
    computed,
  }));
  scope.stage((input) => ({
    op: 'Project',
    input,
    columns: made.map(({ slot, computed }) => ({ slot, value: computed as typeof record })),
  }));
  return {
    plan: scope.close(),
    output: { kind: 'columns', columns: made.map(({ name, slot }) => ({ name, slot })) },
    metadata: new Map(),
    statementLimit: undefined,
  };
}

/** The places are searched in the order of their buckets; without places everything is. */
function findReferences(
  analysis: Analysis,
  node: Command,
  parent: Scope | undefined,
): AnalyzedQuery {
  const scope = new QueryScope(parent);
  const targets = analysis.expression(
    expressionArgument(node, 'targets') as Expression,
    rowEnvironment(scope),
  );
  const [target, referrer, fields] = [
    analysis.slots.next(),
    analysis.slots.next(),
    analysis.slots.next(),
  ];
  scope.source(
    { op: 'FindReferences', targets, buckets: placesOf(analysis, node), target, referrer, fields },
    { kind: 'value', slot: target },
  );
  return {
    plan: scope.close(),
    output: {
      kind: 'columns',
      columns: [
        { name: 'rid', slot: target },
        { name: 'referredBy', slot: referrer },
        { name: 'fields', slot: fields },
      ],
    },
    metadata: new Map(),
    statementLimit: undefined,
  };
}

function placesOf(analysis: Analysis, node: Command): readonly BucketId[] {
  const { catalog } = analysis;
  const argument = node.arguments.get('places');
  const places =
    typeof argument === 'object' && argument.kind === 'names' ? argument.value : undefined;
  const types = catalog.types().filter((type) => !type.lightweight);
  if (places === undefined) return types.flatMap((type) => type.buckets);
  const buckets = places.flatMap((place) => {
    if (!place.startsWith('bucket:'))
      return analysis.typeWithSubtypes(place).flatMap((id) => catalog.typeWithId(id).buckets);
    const name = place.slice('bucket:'.length);
    return bucketIds(analysis, [/^\d+$/.test(name) ? Number(name) : name]);
  });
  return [...new Set(buckets)].sort((a, b) => a - b);
}

function expressionArgument(node: Command, name: string): Expression | undefined {
  const argument = node.arguments.get(name);
  return typeof argument === 'object' && argument.kind === 'expression'
    ? argument.value
    : undefined;
}

/** SET, REMOVE, MERGE or CONTENT; right sides see the record as it is about to be. */
function operationArgument(
  analysis: Analysis,
  node: Command,
  scope: QueryScope,
  as: Slot,
): readonly Assignment[] {
  const argument = node.arguments.get('operation');
  const operations: readonly UpdateOperation[] =
    typeof argument === 'object' && argument.kind === 'operation' ? [argument.value] : [];
  return assignmentsOf(analysis, operations, newRecordEnvironment(scope, as));
}
