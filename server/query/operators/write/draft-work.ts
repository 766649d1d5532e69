import type { Dialect } from '../../algebra/expression.ts';
import type { LongCalls } from '../../evaluate/turns/long-calls.ts';
import type { ExecutionContext } from '../operator.ts';
import type { CompiledAssignment } from './assignments.ts';
import { runCypherAssignment } from './cypher-assignments.ts';
import type { RecordDraft } from './record-draft.ts';

/** As many are made in one go; what they call may begin that anew. */
const assignmentsAtOnce = 256;
/** Of one among many: it looks its property up, and puts a value into a table. */
const unitsPerAssignment = 8;

/**
 * A draft to which very many assignments of openCypher are made, one after the other, over as many turns as they take. Each is an
 * evaluation of its own, so those before it are not made anew.
 */
export class DraftWork {
  readonly draft: RecordDraft;
  /** Properties set or removed so far. */
  changeCount = 0;
  readonly #context: ExecutionContext;
  readonly #length: number;
  #at = 0;
  readonly #assign: () => void;

  static isDueFor(dialect: Dialect | undefined, assignments: readonly unknown[]): boolean {
    return dialect === 'cypher' && assignments.length > assignmentsAtOnce;
  }

  constructor(
    assignments: readonly CompiledAssignment[],
    draft: RecordDraft,
    context: ExecutionContext,
  ) {
    this.draft = draft;
    this.#context = context;
    this.#length = assignments.length;
    this.#assign = () => {
      const assignment = assignments[this.#at] as CompiledAssignment;
      this.changeCount += runCypherAssignment(draft, assignment, context, {
        isLast: true,
      });
    };
  }

  /** @returns false when it goes on in the next turn */
  goOn(calls: LongCalls): boolean {
    while (this.#at < this.#length) {
      if (!calls.attempt(this.#context, this.#assign)) return false;
      this.#at += 1;
      if (calls.isSpent(unitsPerAssignment) && this.#at < this.#length) return false;
    }
    return true;
  }
}
