import type { LogIndex } from '#core/value/rid.ts';

/** What the last commit of a load remembers of its request (limits.md 17), for repetitions after a restart. */
export interface CommittedRequest {
  /** As `RunOptions.replayKey`. */
  readonly replayKey: string;
  /** Of the beginning and of all of its body, which the key does not hold. */
  readonly headDigest: string;
  readonly bodyDigest: string;
  /** At most `service.server.httpIdempotencyMaxBodySize`. */
  readonly answer: Uint8Array | undefined;
}

export interface RecordedRequest {
  readonly headDigest: string;
  readonly bodyDigest: string;
  /** Undefined when it was too large, or others have taken its place. */
  readonly answer: Uint8Array | undefined;
  /** Of the commit; of a newer one when the database was opened since. */
  readonly index: LogIndex;
}
