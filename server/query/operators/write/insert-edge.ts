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
import { LiveRecord } from '../../evaluate/live-record.ts';
import { runCypherAssignments } from './cypher-assignments.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
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
} from '../operator.ts';
import { RecordDraft } from './record-draft.ts';
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
  #defaults: ReturnType<typeof defaultsOf> = [];
  #sources: readonly Rid[] = [];
  #targets: readonly Rid[] = [];
  #pair = 0;
  #ordinal = 0;
  readonly #share = new WorkShare();
  readonly #calls = new LongCalls();
  /** The input row whose ends are computed. */
  #hasRow = false;
  /** The edge of the current pair: computed and not yet written. */
  #draft: RecordDraft | undefined;
  #written: StoredRecord = vetoed;
  readonly #findEnds = (): void => {
    const context = this.#context as ExecutionContext;
    const { from, to } = this.#options;
    this.#sources = verticesOf(from(context), context);
    this.#targets = verticesOf(to(context), context);
    if (this.#options.dialect !== 'cypher') return;
    if (this.#sources.length === 0 || this.#targets.length === 0) throw notA('a node', null);
  };
  readonly #compute = (): void => {
    const context = this.#context as ExecutionContext;
    const { as, assignments } = this.#options;
    const { source, target } = this.#ends();
    const type = this.#type as TypeDefinition;
    const draft = RecordDraft.ofNew(type, { out: source, in: target });
    context.frame[as] = draft;
    if (this.#options.dialect === 'cypher') runCypherAssignments(draft, assignments, context);
    else runAssignments(draft, assignments, context, this.#ordinal);
    applyDefaults(draft, this.#defaults, context);
    this.#draft = draft;
  };
  readonly #write = (): void => {
    const transaction = transactionOf(this.#context as ExecutionContext);
    const { source, target } = this.#ends();
    const { type, bucket } = this.#options;
    const properties = (this.#draft as RecordDraft).content();
    this.#written = transaction.insertEdge(type, source, target, properties, bucket);
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
    this.#defaults = defaultsOf(context, type.id);
    this.#sources = [];
    this.#targets = [];
    this.#pair = 0;
    this.#ordinal = 0;
    this.#hasRow = false;
    this.#draft = undefined;
    this.#calls.reset();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    const { input } = this.#options;
    const calls = this.#calls;
    if (calls.isExhausted) {
      calls.newTurn();
      return PAUSE;
    }
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#pair < this.#sources.length * this.#targets.length) {
        const isConnected = this.#connect();
        if (isConnected === undefined) return PAUSE;
        this.#pair += 1;
        this.#draft = undefined;
        if (isConnected) return ROW;
        continue;
      }
      if (!this.#hasRow) {
        const pulled = input.next();
        if (pulled !== ROW) return pulled;
        this.#hasRow = true;
      }
      if (!calls.attempt(context, this.#findEnds)) return PAUSE;
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
  #connect(): boolean | undefined {
    const context = this.#context as ExecutionContext;
    const { as, ifNotExists } = this.#options;
    const type = this.#type as TypeDefinition;
    if (this.#draft === undefined) {
      const { source, target } = this.#ends();
      // What is being computed for the edge may have made it meanwhile.
      const isAsked = ifNotExists && !this.#calls.isUnderway;
      const existing = isAsked ? existingEdge(context, type.id, source, target) : undefined;
      if (existing !== undefined) {
        context.frame[as] = existing;
        return true;
      }
      if (!this.#calls.attempt(context, this.#compute)) return undefined;
      this.#ordinal += 1;
      if (ifNotExists) transactionOf(context).claimEdge(type.id, source, target);
    }
    if (!this.#calls.attempt(context, this.#write)) return undefined;
    if (this.#written === vetoed) return false;
    context.frame[as] =
      this.#options.dialect === 'cypher' ? new LiveRecord(this.#written, context) : this.#written;
    context.statistics.relationshipsCreated += 1;
    context.statistics.propertiesSet += this.#draft?.properties.size ?? 0;
    return true;
  }

  close(): void {
    this.#calls.reset();
    this.#draft = undefined;
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
