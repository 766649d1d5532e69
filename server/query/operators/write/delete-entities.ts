import { isTurnOver } from '#core/turn-end.ts';
import { languageError } from '#core/errors.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { isList, isRecord, type Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { notA } from '../../evaluate/cypher-failures.ts';
import { LongCalls } from '../../evaluate/turns/long-calls.ts';
import { NeighbourCursor, type ResolvedMove } from '../graph/neighbour-cursor.ts';
import { rowsPerLook, rowsPerTurn } from '../hold/work-share.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { transactionOf } from './writing.ts';

export interface DeleteEntitiesOptions {
  readonly input: PhysicalOperator;
  readonly record: Slot;
  readonly detach: boolean;
  /** Move to all edges of a vertex. */
  readonly edges: ResolvedMove;
  readonly description: string;
}

/**
 * Relationships that went with a node that was deleted without DETACH: each must be deleted by name before the statement ends. By
 * their ids, with their ends. One list per execution, told by its regex budget.
 */
const goneWithNodes = new WeakMap<object, Map<Rid, readonly [Rid, Rid]>>();

/**
 * DELETE of openCypher: nodes, relationships, paths and lists of these; what is gone already is passed over, and each row passes.
 * Relationships are deleted as they come, nodes with relationships at the end of the input, when others have taken theirs.
 */
export class DeleteEntitiesOperator implements PhysicalOperator {
  readonly name = 'Delete';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: DeleteEntitiesOptions;
  readonly #edges: NeighbourCursor;
  readonly #calls = new LongCalls();
  #context: ExecutionContext | undefined;
  /** To be deleted before the row at hand passes. */
  #waiting: StoredRecord[] = [];
  #isRowHeld = false;
  /** Nodes that had relationships when they came. */
  #connected: StoredRecord[] = [];
  #hasEnded = false;
  #deleting: StoredRecord | undefined;
  readonly #write = (): void => {
    transactionOf(this.#context as ExecutionContext).delete((this.#deleting as StoredRecord).rid);
  };

  constructor(options: DeleteEntitiesOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
    this.#edges = new NeighbourCursor(options.edges);
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#waiting = [];
    this.#isRowHeld = false;
    this.#connected = [];
    this.#hasEnded = false;
    this.#deleting = undefined;
    this.#calls.reset();
    this.#options.input.open(context);
  }

  next(): Pulled {
    const context = this.#context as ExecutionContext;
    if (this.#calls.isExhausted) {
      this.#calls.newTurn();
      return PAUSE;
    }
    for (let count = 1; count < rowsPerTurn; count += 1) {
      if (count % rowsPerLook === 0 && isTurnOver()) return PAUSE;
      if (this.#deleting !== undefined) {
        if (!this.#calls.attempt(context, this.#write)) return PAUSE;
        this.#deleting = undefined;
        continue;
      }
      const next = this.#waiting.pop();
      if (next !== undefined) {
        this.#begin(next);
        continue;
      }
      if (this.#isRowHeld) {
        this.#isRowHeld = false;
        return ROW;
      }
      if (this.#hasEnded) return END;
      const pulled = this.#options.input.next();
      if (pulled === PAUSE) return PAUSE;
      if (pulled === END) {
        this.#hasEnded = true;
        this.#waiting = this.#connected.reverse();
        this.#connected = [];
        continue;
      }
      this.#isRowHeld = true;
      this.#take(context.frame[this.#options.record] as Value);
    }
    return PAUSE;
  }

  #take(value: Value): void {
    if (value === null) return;
    if (isRecord(value)) {
      this.#waiting.push(value);
      return;
    }
    if (isList(value)) {
      for (const item of value) this.#take(item);
      return;
    }
    const { nodes, relationships } = value as {
      readonly nodes?: readonly StoredRecord[];
      readonly relationships?: readonly StoredRecord[];
    };
    if (nodes === undefined || relationships === undefined)
      throw notA('a node, relationship or path', value);
    this.#waiting.push(...nodes, ...relationships);
  }

  #begin(record: StoredRecord): void {
    const context = this.#context as ExecutionContext;
    const transaction = transactionOf(context);
    const stored = transaction.record(record.rid);
    if (stored === undefined) {
      this.#nameGone(record, context);
      return;
    }
    context.requireWrite?.('delete', stored.typeName);
    if (stored.kind === 'edge') {
      context.statistics.relationshipsDeleted += 1;
      this.#deleting = stored;
      return;
    }
    this.#edges.start(transaction, stored);
    const degree = this.#edges.remainingDegree();
    if (degree > 0 && !this.#options.detach && !this.#hasEnded) {
      this.#connected.push(stored);
      return;
    }
    this.#countEdges(stored, context);
    context.statistics.nodesDeleted += 1;
    this.#deleting = stored;
  }

  /** It went with a node before: now it is deleted by name. */
  #nameGone(record: StoredRecord, context: ExecutionContext): void {
    const { kind } = record;
    const gone = goneWithNodes.get(context.regexBudget);
    if (gone === undefined) return;
    if (kind === 'edge') {
      if (gone.delete(record.rid)) context.statistics.relationshipsDeleted += 1;
      return;
    }
    if (!this.#options.detach) return;
    this.#takeFrom(gone, record.rid, context);
  }

  #takeFrom(gone: Map<Rid, readonly [Rid, Rid]>, node: Rid, context: ExecutionContext): void {
    for (const [edge, ends] of gone)
      if (ends.includes(node)) {
        gone.delete(edge);
        context.statistics.relationshipsDeleted += 1;
      }
  }

  /** The relationships that go with the node: with DETACH they are deleted, otherwise they must be later. */
  #countEdges(node: StoredRecord, context: ExecutionContext): void {
    const { detach } = this.#options;
    let gone = goneWithNodes.get(context.regexBudget);
    if (detach && gone !== undefined) this.#takeFrom(gone, node.rid, context);
    const seen = new Set<Rid>();
    this.#edges.start(transactionOf(context), node);
    while (this.#edges.next()) {
      const edge = this.#edges.edge;
      if (seen.has(edge)) continue;
      seen.add(edge);
      if (detach) {
        context.statistics.relationshipsDeleted += 1;
        continue;
      }
      const record = transactionOf(context).record(edge);
      if (record === undefined) continue;
      gone ??= new Map();
      goneWithNodes.set(context.regexBudget, gone);
      gone.set(edge, [record.out, record.in]);
    }
  }

  close(): void {
    this.#calls.reset();
    this.#waiting = [];
    this.#connected = [];
    this.#deleting = undefined;
    this.#context = undefined;
    this.#options.input.close();
  }
}

/**
 * On top of statements that delete: at their end no node may have left relationships behind.
 * @throws DatabaseError `DeleteConnectedNode`
 */
export class ConnectedNodesCheckOperator implements PhysicalOperator {
  readonly name = 'Check deleted nodes';
  readonly description = '';
  readonly inputs: readonly PhysicalOperator[];
  readonly #input: PhysicalOperator;
  #context: ExecutionContext | undefined;

  constructor(input: PhysicalOperator) {
    this.inputs = [input];
    this.#input = input;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#input.open(context);
  }

  next(): Pulled {
    const pulled = this.#input.next();
    if (pulled === END) {
      const count = goneWithNodes.get((this.#context as ExecutionContext).regexBudget)?.size ?? 0;
      if (count > 0)
        throw languageError(
          {
            type: 'ConstraintVerificationFailed',
            phase: 'runtime',
            detail: 'DeleteConnectedNode',
          },
          `a deleted node still has ${count} relationships; delete them too, or use DETACH DELETE`,
        );
    }
    return pulled;
  }

  close(): void {
    this.#context = undefined;
    this.#input.close();
  }
}
