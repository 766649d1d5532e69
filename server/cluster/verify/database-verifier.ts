import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { VerifiedDatabase, VerifyPort } from '../cluster-view.ts';
import { entryKind } from '../replication/entry-codec.ts';
import type { MemberDatabase } from '../replication/server-entries.ts';
import type { ServerProposer } from '../replication/server-proposer.ts';
import { type DigestSource, digestOf } from './database-digest.ts';

/** Marks whose digests are kept. */
const keptMax = 16;

export interface DatabaseVerifierOptions {
  readonly member: (name: string) => MemberDatabase | undefined;
  readonly proposer: () => ServerProposer;
  /** The newest state of an open database; disposed here. */
  readonly view: (name: string) => DigestSource & Disposable;
  readonly runtime: Runtime;
  readonly log: Log;
}

/** Digests of databases at indexes that are marked in the log (ha.md 9.6): each server makes them when it applies the mark. */
export class DatabaseVerifier implements VerifyPort {
  readonly #options: DatabaseVerifierOptions;
  readonly #found = new Map<string, VerifiedDatabase | Error | undefined>();

  constructor(options: DatabaseVerifierOptions) {
    this.#options = options;
  }

  async mark(database: string): Promise<{ readonly verifyId: string; readonly index: Index }> {
    const { member, proposer, runtime } = this.#options;
    const found = member(database);
    if (found === undefined)
      throw new DatabaseError('DatabaseNotFound', `Database '${database}' does not exist`);
    const verifyId = runtime.random.uuid();
    const body = Buffer.from(JSON.stringify({ verifyId }));
    const index = await proposer().proposeFor(found.uuid, entryKind.verifyMark, body);
    return { verifyId, index };
  }

  result(verifyId: string): VerifiedDatabase | undefined {
    const found = this.#found.get(verifyId);
    if (found instanceof Error) throw found;
    return found;
  }

  /** The mark is applied: the state that is here now is what all servers compare. */
  marked(database: string, index: Index, body: Uint8Array): void {
    const { verifyId } = JSON.parse(Buffer.from(body).toString()) as { verifyId: string };
    this.#keep(verifyId, undefined);
    let view: DigestSource & Disposable;
    try {
      view = this.#options.view(database);
    } catch (error) {
      this.#keep(verifyId, asError(error));
      return;
    }
    digestOf(view, this.#options.runtime)
      .then(
        (files) => this.#keep(verifyId, { database, index, files }),
        (error: unknown) => {
          this.#options.log.error('a database could not be verified', {
            db: database,
            reason: String(error),
          });
          this.#keep(verifyId, asError(error));
        },
      )
      .finally(() => view[Symbol.dispose]());
  }

  /** A mark of a database that is not here yet: whoever compares is told so at once. */
  absent(body: Uint8Array): void {
    const { verifyId } = JSON.parse(Buffer.from(body).toString()) as { verifyId?: string };
    if (verifyId === undefined) return;
    const reason = 'this server has no copy to compare yet; it is being fetched';
    this.#keep(verifyId, new DatabaseError('DatabaseInstalling', reason));
  }

  #keep(verifyId: string, found: VerifiedDatabase | Error | undefined): void {
    this.#found.set(verifyId, found);
    for (const oldest of this.#found.keys()) {
      if (this.#found.size <= keptMax) break;
      this.#found.delete(oldest);
    }
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
