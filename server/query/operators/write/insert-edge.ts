import { typeOfRid } from '#transaction/read/holding-bucket.ts';
import { isListedAtTargets, type TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, Rid, TypeId } from '#core/value/rid.ts';
import { isList, isMap, type Value } from '#core/value/value.ts';
import type { Direction } from '#storage/engine.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Dialect, Slot } from '../../algebra/expression.ts';
import { notA } from '../../evaluate/cypher-failures.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { CompiledAssignment } from './assignments.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { RecordDraft } from './record-draft.ts';
import { RecordMaker } from './record-maker.ts';
import { describeValue, ridOf } from '../record-identity.ts';
import { transactionOf } from './writing.ts';
import { WorkShare } from '../hold/work-share.ts';

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
  readonly dialect?: Dialect | undefined;
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
  #maker: RecordMaker | undefined;
  #sources: readonly Rid[] = [];
  #targets: readonly Rid[] = [];
  #pair = 0;
  readonly #share = new WorkShare();
  /** The input row whose ends are computed. */
  #hasRow = false;
  readonly #findEnds = (): void => {
    const context = this.#context as ExecutionContext;
    const { from, to } = this.#options;
    this.#sources = verticesOf(from(context), context);
    this.#targets = verticesOf(to(context), context);
    if (this.#options.dialect !== 'cypher') return;
    if (this.#sources.length === 0 || this.#targets.length === 0) throw notA('a node', null);
  };

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
    this.#maker = new RecordMaker(this.#options, context, type, {
      begin: () => {
        const { source, target } = this.#ends();
        return RecordDraft.ofNew(type, { out: source, in: target });
      },
      write: (properties) => {
        const { source, target } = this.#ends();
        const { bucket } = this.#options;
        return transactionOf(context).insertEdge(type.id, source, target, properties, bucket);
      },
    });
    this.#sources = [];
    this.#targets = [];
    this.#pair = 0;
    this.#hasRow = false;
    this.#share.open();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    const { input } = this.#options;
    const maker = this.#maker as RecordMaker;
    if (maker.isTurnSpent()) return PAUSE;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#pair < this.#sources.length * this.#targets.length) {
        const isConnected = this.#connect(maker);
        if (isConnected === undefined) return PAUSE;
        this.#pair += 1;
        if (isConnected) return ROW;
        continue;
      }
      if (!this.#hasRow) {
        const pulled = input.next();
        if (pulled !== ROW) return pulled;
        this.#hasRow = true;
      }
      if (!maker.calls.attempt(context, this.#findEnds)) return PAUSE;
      this.#hasRow = false;
      this.#pair = 0;
    }
  }

  /** Of the current pair. */
  #ends(): { readonly source: Rid; readonly target: Rid } {
    const { length } = this.#targets;
    const source = this.#sources[Math.floor(this.#pair / length)] as Rid;
    return { source, target: this.#targets[this.#pair % length] as Rid };
  }

  /** @returns false when a trigger vetoes the edge, undefined when it goes on in the next turn */
  #connect(maker: RecordMaker): boolean | undefined {
    const context = this.#context as ExecutionContext;
    const { as, ifNotExists } = this.#options;
    const type = this.#type as TypeDefinition;
    if (!maker.isComputed) {
      const { source, target } = this.#ends();
      // What is being computed for the edge may have made it meanwhile.
      const isAsked = ifNotExists && !maker.calls.isUnderway;
      const existing = isAsked ? existingEdge(context, type.id, source, target) : undefined;
      if (existing !== undefined) {
        context.frame[as] = existing;
        return true;
      }
      if (!maker.compute()) return undefined;
      if (ifNotExists) transactionOf(context).claimEdge(type.id, source, target);
    }
    const written = maker.write();
    if (written === undefined) return undefined;
    if (written === vetoed) return false;
    context.statistics.relationshipsCreated += 1;
    return true;
  }

  close(): void {
    this.#maker?.close();
    this.#maker = undefined;
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
    const type = typeOfRid(view, rid);
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
    const fromTarget =
      isListedAtTargets(view.catalog.typeWithId(type)) &&
      view.degree(target, 'in', type) < view.degree(source, 'out', type);
    const direction: Direction = fromTarget ? 'in' : 'out';
    const list = view.adjacency(fromTarget ? target : source, direction, type);
    const other = fromTarget ? source : target;
    for (let at = 0; at < list.count; at += 1)
      if (list.vertices[at] === other) return view.record(list.edges[at] as Rid);
  }
  return undefined;
}
