import { MissingTypes, newType } from '#catalog/labels.ts';
import type { RecordKind } from '#core/value/record.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';

/** A statement that finds types missing this often makes them no more: each time it learns of those that its rows need. */
const roundsMax = 64;

export interface TypesOnTheFlyOptions {
  readonly databaseName: string;
  readonly authorizer: Authorizer;
  readonly requireWritable: () => void;
  readonly transactions: { begin(isolation: Isolation): Transaction };
}

/** Looked at between types: each is a change of the schema by itself, and takes some milliseconds. */
export interface TypeWatch {
  /** @throws when the statement is to end */
  check(): void;
}

/** The statement that types are made for. */
export interface TypeMaker {
  readonly options: { readonly principal: Principal };
  readonly watch: TypeWatch;
}

/** Makes the types and windows that statements find missing (cypher.md 1.1), outside of their transactions. */
export class TypesOnTheFly {
  readonly #options: TypesOnTheFlyOptions;

  constructor(options: TypesOnTheFlyOptions) {
    this.#options = options;
  }

  /**
   * Runs `attempt` until it finds nothing missing; it has taken back what it did when it fails.
   * @throws DatabaseError `Forbidden` when the caller may not change the schema, and types are missing
   */
  async around<T>(attempt: () => T | Promise<T>, maker: TypeMaker): Promise<T> {
    for (let round = 1; ; round += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (round >= roundsMax) throw error;
        await this.make(error, maker);
      }
    }
  }

  /**
   * As `around` in the transaction of a session, which stays in its snapshot and learns of the new types alone. What an attempt did
   * is taken back.
   */
  inSession<T>(
    transaction: Transaction,
    maker: TypeMaker,
    attempt: (isAgain: boolean) => T | Promise<T>,
  ): Promise<T> {
    let isAgain = false;
    return this.around(async () => {
      const savepoint = transaction.savepoint();
      try {
        if (isAgain) {
          transaction.adoptTypes();
          transaction.beginStatement();
        }
        return await attempt(isAgain);
      } catch (error) {
        if (missingIn(error) !== undefined) savepoint.undo();
        throw error;
      } finally {
        isAgain = true;
        savepoint.release();
      }
    }, maker);
  }

  /** As `around`, when the first attempt has failed: without a promise when it has not. */
  async again<T>(error: unknown, attempt: () => T | Promise<T>, maker: TypeMaker): Promise<T> {
    await this.make(error, maker);
    return this.around(attempt, maker);
  }

  /** Types that a text of a session names; the session learns of them and stays in its snapshot. */
  async makeBeside(
    transaction: Transaction,
    types: readonly {
      readonly name: string;
      readonly kind: RecordKind;
      readonly supertypes: readonly string[];
    }[],
    watch: TypeWatch,
  ): Promise<void> {
    const changes = types.map(({ name, kind, supertypes }) => newType(kind, name, supertypes));
    await this.#carryOut(changes, watch);
    transaction.adoptTypes();
  }

  /** What an error says is missing. @throws any other error, and as `around` */
  async make(error: unknown, { options: { principal: who }, watch }: TypeMaker): Promise<void> {
    const missing = missingIn(error);
    if (missing === undefined) throw error;
    const { authorizer, databaseName, requireWritable } = this.#options;
    requireWritable();
    if (missing.makesTypes && !who.isRoot)
      authorizer.require(who, databaseName, { effects: new Set(['schema']), types: [] });
    await this.#carryOut(missing.changes, watch);
  }

  async #carryOut(changes: readonly SchemaChange[], watch: TypeWatch): Promise<void> {
    const transaction = this.#options.transactions.begin('READ_COMMITTED');
    try {
      await alterAll(transaction, changes, watch);
    } finally {
      transaction.rollback();
    }
  }
}

/** One after the other. */
export async function alterAll(
  transaction: Transaction,
  changes: readonly SchemaChange[],
  watch: TypeWatch,
): Promise<void> {
  for (const [at, change] of changes.entries()) {
    if (at > 0) watch.check();
    await transaction.alter(change);
  }
}

/** What an error says is missing, also when a place in the text was put around it. */
export function missingIn(error: unknown): MissingTypes | undefined {
  if (error instanceof MissingTypes) return error;
  return error instanceof DatabaseError && error.cause instanceof MissingTypes
    ? error.cause
    : undefined;
}
