import type { LogView } from './log.ts';
import type { ConfState, Entry, HardState, Index, PeerId } from './vocabulary.ts';

/** ha.md 2.2; times in ticks. */
export interface RaftLimits {
  readonly electionTicksMin: number;
  readonly electionTicksMax: number;
  readonly heartbeatTicks: number;
  /** A new timeout after `forgetLeader` is at most this. */
  readonly forgottenTicksMax: number;
  readonly preVote: boolean;
  readonly checkQuorum: boolean;
  /** Bytes of one append message; a larger entry travels alone. */
  readonly messageBytesMax: number;
  /** Entries of one append message. */
  readonly messageEntriesMax: number;
  readonly windowMessagesMax: number;
  readonly windowBytesMax: number;
  readonly uncommittedBytesMax: number;
  /** Bytes handed out to be applied at a time. */
  readonly applyBytesMax: number;
  /**
   * Followers hear of a commit with the next append, the next heartbeat, or when the driver calls `tellCommit`; else at once, with an
   * append that is empty (ha.md 2.6 rule 6).
   */
  readonly tellsCommitLater: boolean;
}

const mebi = 1024 * 1024;

export const defaultRaftLimits: RaftLimits = {
  electionTicksMin: 40,
  electionTicksMax: 100,
  heartbeatTicks: 4,
  forgottenTicksMax: 6,
  preVote: true,
  checkQuorum: true,
  messageBytesMax: mebi,
  messageEntriesMax: 64,
  windowMessagesMax: 64,
  windowBytesMax: 8 * mebi,
  uncommittedBytesMax: 256 * mebi,
  applyBytesMax: 8 * mebi,
  tellsCommitLater: false,
};

/** A node from any log, hard state and configuration. */
export interface RaftOptions {
  readonly self: PeerId;
  readonly limits: RaftLimits;
  readonly log: LogView;
  readonly hardState: HardState;
  /** The configuration as of `confIndex`. */
  readonly conf: ConfState;
  readonly confIndex: Index;
  /** Entries of kind `conf` behind `confIndex` that the log holds. */
  readonly confEntries: readonly Entry[];
  readonly applied: Index;
  /** False for a new or lost disk: such a node neither votes nor campaigns, and its answers do not count (ha.md 8.2). */
  readonly admitted: boolean;
  /** Whether it may lead, by its own settings; the configuration may be older. Absent: the configuration says it. */
  readonly canLead?: boolean;
  /** 0 to n - 1; asked only when a timeout is drawn. */
  readonly rand: (n: number) => number;
}
