import type { TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/record.ts';
import { bucketOf, type BucketId, type Rid, type TypeId } from '#core/rid.ts';
import { isList, isMap, type Value } from '#core/value.ts';
import type { Direction } from '#storage/engine.ts';
import { vetoed } from '#transaction/trigger-runner.ts';
import type { Slot } from '../algebra/expression.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import {
  applyDefaults,
  defaultsOf,
  runAssignments,
  type CompiledAssignment,
} from './assignments.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from './operator.ts';
import { RecordDraft } from './record-draft.ts';
import { describeValue, ridOf } from './record-identity.ts';
import { transactionOf } from './writing.ts';
import { WorkShare } from './work-share.ts';

export interface InsertEdgeOptions {
  readonly input: PhysicalOperator;
  readonly type: TypeId;
  readonly bucket: BucketId | undefined;
  readonly from: Evaluator;
  readonly to: Evaluator;
  readonly ifNotExists: boolean;
  readonly unidirectional: boolean;
  readonly assignments: readonly CompiledAssignment[];
  readonly as: Slot;
  readonly description: string;
}

/** For each input row the edges of the Cartesian product of sources and targets, one row per edge. */
export class InsertEdgeOperator implements PhysicalOperator {
  readonly name = 'Insert edge';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: InsertEdgeOptions;
  #context: ExecutionContext | undefined;
  #type: TypeDefinition | undefined;
  #defaults: ReturnType<typeof defaultsOf> = [];
  #sources: readonly Rid[] = [];
  #targets: readonly Rid[] = [];
  #pair = 0;
  #ordinal = 0;
  readonly #share = new WorkShare();

  constructor(options: InsertEdgeOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    const type = context.view.catalog.typeWithId(this.#options.type);
    if (type.kind !== 'edge')
      throw new DatabaseError('IllegalArgument', `Type '${type.name}' is not an edge type`);
    if (this.#options.unidirectional && type.bidirectional)
      throw new DatabaseError(
        'IllegalArgument',
        `Cannot create unidirectional edge on a bidirectional edge type '${type.name}'`,
      );
    this.#type = type;
    this.#defaults = defaultsOf(context, type.id);
    this.#sources = [];
    this.#targets = [];
    this.#pair = 0;
    this.#ordinal = 0;
    this.#options.input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    const { input, from, to } = this.#options;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#pair < this.#sources.length * this.#targets.length) {
        const source = this.#sources[Math.floor(this.#pair / this.#targets.length)] as Rid;
        const target = this.#targets[this.#pair % this.#targets.length] as Rid;
        this.#pair += 1;
        if (this.#connect(source, target)) return ROW;
        continue;
      }
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      this.#sources = verticesOf(from(context), context);
      this.#targets = verticesOf(to(context), context);
      this.#pair = 0;
    }
  }

  /** @returns false when a trigger vetoes the edge */
  #connect(source: Rid, target: Rid): boolean {
    const context = this.#context as ExecutionContext;
    const { as, ifNotExists, assignments, bucket } = this.#options;
    const type = this.#type as TypeDefinition;
    const existing = ifNotExists ? existingEdge(context, type.id, source, target) : undefined;
    if (existing !== undefined) {
      context.frame[as] = existing;
      return true;
    }
    const draft = RecordDraft.ofNew(type, { out: source, in: target });
    context.frame[as] = draft;
    runAssignments(draft, assignments, context, this.#ordinal);
    this.#ordinal += 1;
    applyDefaults(draft, this.#defaults, context);
    const { properties } = draft;
    if (ifNotExists) transactionOf(context).claimEdge(type.id, source, target);
    const edge = transactionOf(context).insertEdge(type.id, source, target, properties, bucket);
    if (edge === vetoed) return false;
    context.frame[as] = edge;
    context.statistics.relationshipsCreated += 1;
    context.statistics.propertiesSet += properties.size;
    return true;
  }

  close(): void {
    this.#context = undefined;
    this.#sources = [];
    this.#targets = [];
    this.#options.input.close();
  }
}

/** The vertices that a value names: one or a list of records, record ids, or rows with `@rid` or `rid`. */
function verticesOf(value: Value, context: ExecutionContext): readonly Rid[] {
  if (value === null) return [];
  const elements = isList(value) ? value : [value];
  const rids: Rid[] = [];
  for (let at = 0; at < elements.length; at += 1) {
    const element = elements[at] as Value;
    if (isList(element)) rids.push(...verticesOf(element, context));
    else rids.push(vertexOf(element, context));
  }
  return rids;
}

function vertexOf(element: Value, context: ExecutionContext): Rid {
  const { view } = context;
  const rid = ridOf(element) ?? (isMap(element) ? ridOf(element.get('rid') ?? null) : undefined);
  if (rid !== undefined && rid >= 0) {
    const type = view.catalog.bucketWithId(bucketOf(rid))?.type;
    const isVertex = type !== undefined && view.catalog.typeWithId(type).kind === 'vertex';
    if (isVertex && view.record(rid) !== undefined) return rid;
  }
  throw new DatabaseError(
    'IllegalArgument',
    `Invalid vertex for edge creation: ${describeValue(element)}`,
  );
}

/** The first edge of the type or a subtype from source to target. Searches the shorter of the two lists. */
function existingEdge(
  context: ExecutionContext,
  edgeType: TypeId,
  source: Rid,
  target: Rid,
): StoredRecord | undefined {
  const { view } = context;
  for (const type of view.catalog.withSubtypes(edgeType)) {
    const isBidirectional = view.catalog.typeWithId(type).bidirectional;
    const fromTarget =
      isBidirectional && view.degree(target, 'in', type) < view.degree(source, 'out', type);
    const direction: Direction = fromTarget ? 'in' : 'out';
    const list = view.adjacency(fromTarget ? target : source, direction, type);
    const other = fromTarget ? source : target;
    for (let at = 0; at < list.count; at += 1)
      if (list.vertices[at] === other) return view.record(list.edges[at] as Rid);
  }
  return undefined;
}
