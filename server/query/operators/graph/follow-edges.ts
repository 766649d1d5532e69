import type { StoredRecord } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { isList, isRecord, type Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { WalkedEdge } from '../../algebra/plan.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import { RecordReference } from '../record-reference.ts';
import type { TypeCheck } from '../scan/type-check.ts';
import { WorkShare } from '../hold/work-share.ts';
import { WalkedEdges } from './walked-edges.ts';

export interface FollowEdgesOptions {
  readonly input: PhysicalOperator;
  readonly edges: Slot;
  readonly from: Slot;
  readonly to: Slot;
  readonly fromIsBound: boolean;
  readonly toIsBound: boolean;
  readonly direction: 'out' | 'in' | 'both';
  readonly typeCheck: TypeCheck | undefined;
  readonly fromCheck: TypeCheck | undefined;
  readonly toCheck: TypeCheck | undefined;
  readonly unlike: readonly WalkedEdge[];
  readonly description: string;
}

interface Ends {
  readonly from: Rid;
  readonly to: Rid;
}

/** From edges that are bound to where they lead: one row for each way of walking them. */
export class FollowEdgesOperator implements PhysicalOperator {
  readonly name = 'Follow edges';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: FollowEdgesOptions;
  readonly #walked: WalkedEdges | undefined;
  readonly #share = new WorkShare();
  #context: ExecutionContext | undefined;
  #ways: readonly Ends[] = [];
  #next = 0;

  constructor(options: FollowEdgesOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#walked = WalkedEdges.of(options.unlike);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#ways = [];
    this.#next = 0;
    this.#options.input.open(context);
  }

  next(): Pulled {
    const { frame, view } = this.#context as ExecutionContext;
    const { input, from, to, fromIsBound, toIsBound } = this.#options;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      const way = this.#ways[this.#next];
      if (way !== undefined) {
        this.#next += 1;
        if (!fromIsBound) frame[from] = new RecordReference(view, way.from);
        if (!toIsBound) frame[to] = new RecordReference(view, way.to);
        return ROW;
      }
      const pulled = input.next();
      if (pulled !== ROW) return pulled;
      this.#next = 0;
      this.#ways = this.#waysOf(frame[this.#options.edges] as Value);
    }
  }

  #waysOf(value: Value): readonly Ends[] {
    const { frame, view } = this.#context as ExecutionContext;
    const { fromIsBound, toIsBound, from, to, fromCheck, toCheck } = this.#options;
    this.#walked?.read(frame);
    const start = fromIsBound ? idIn(frame[from] as Value) : undefined;
    const end = toIsBound ? idIn(frame[to] as Value) : undefined;
    if ((fromIsBound && start === undefined) || (toIsBound && end === undefined)) return [];
    return this.#walks(value, start).filter(
      (way) =>
        (start === undefined || way.from === start) &&
        (end === undefined || way.to === end) &&
        (from !== to || way.from === way.to) &&
        (fromCheck === undefined || fromCheck(way.from, view)) &&
        (toCheck === undefined || toCheck(way.to, view)),
    );
  }

  #walks(value: Value, start: Rid | undefined): readonly Ends[] {
    if (!isList(value)) {
      const edge = this.#edge(value);
      return edge === undefined ? [] : this.#waysThrough(edge);
    }
    // No edge leads from each vertex to itself.
    if (value.length === 0) return start === undefined ? [] : [{ from: start, to: start }];
    let ways: readonly Ends[] | undefined;
    for (const item of value) {
      const edge = this.#edge(item);
      if (edge === undefined) return [];
      const steps = this.#waysThrough(edge);
      const before = ways;
      ways =
        before === undefined
          ? steps
          : before.flatMap((way) =>
              steps
                .filter((step) => step.from === way.to)
                .map((step) => ({ from: way.from, to: step.to })),
            );
    }
    return ways ?? [];
  }

  /** The value as an edge that may be walked. */
  #edge(value: Value): StoredRecord | undefined {
    const { typeCheck } = this.#options;
    if (!isRecord(value) || value.kind !== 'edge') return undefined;
    if (typeCheck !== undefined && !typeCheck(value.rid, (this.#context as ExecutionContext).view))
      return undefined;
    return this.#walked?.has(value.rid) ? undefined : value;
  }

  #waysThrough(edge: StoredRecord): readonly Ends[] {
    const { direction } = this.#options;
    const along = { from: edge.out, to: edge.in };
    const back = { from: edge.in, to: edge.out };
    if (direction === 'out') return [along];
    if (direction === 'in') return [back];
    return edge.out === edge.in ? [along] : [along, back];
  }

  close(): void {
    this.#ways = [];
    this.#context = undefined;
    this.#options.input.close();
  }
}

function idIn(value: Value): Rid | undefined {
  return typeof value === 'number' ? (value as Rid) : ridOf(value);
}
