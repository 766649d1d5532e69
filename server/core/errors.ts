/**
 * Every way a request can fail. `exception` is the wire name that clients see; `retry` tells who may repeat:
 * `never`, `server` (the statement loop re-executes after a full rollback) or `client` (after the stated wait).
 * Doors map codes to their own status in a total table each (`http/answer/errors.ts`).
 */
export const errorSpecs = {
  Syntax: { exception: 'CommandSQLParsingException', retry: 'never' },
  IllegalArgument: { exception: 'IllegalArgumentException', retry: 'never' },
  Arithmetic: { exception: 'ArithmeticErrorException', retry: 'never' },
  NotIdempotent: { exception: 'QueryNotIdempotentException', retry: 'never' },
  CommandExecution: { exception: 'CommandExecutionException', retry: 'never' },
  /** A sub-query gave several rows where one value is needed: the statement is wrong, so 400 (house decision 48). */
  TooManyRows: { exception: 'CommandExecutionException', retry: 'never' },
  NotSupported: { exception: 'UnsupportedOperationException', retry: 'never' },
  Schema: { exception: 'SchemaException', retry: 'never' },
  /** An illegal schema request that is the client's mistake in the text (limits.md 22, 23): 400 instead of 500. */
  SchemaLimit: { exception: 'SchemaException', retry: 'never' },
  Validation: { exception: 'ValidationException', retry: 'never' },
  DuplicatedKey: { exception: 'DuplicatedKeyException', retry: 'server' },
  /** An operation on the whole database that excludes a second one of its kind. */
  OperationRunning: { exception: 'IllegalStateException', retry: 'never' },
  BackupNotFound: { exception: 'FileNotFoundException', retry: 'never' },
  RecordNotFound: { exception: 'RecordNotFoundException', retry: 'never' },
  ConcurrentModification: { exception: 'ConcurrentModificationException', retry: 'server' },
  LockTimeout: { exception: 'LockTimeoutException', retry: 'server' },
  QueueFull: { exception: 'ReplicationQueueFullException', retry: 'server' },
  Timeout: { exception: 'TimeoutException', retry: 'never' },
  Cancelled: { exception: 'CommandCancelledException', retry: 'never' },
  Forbidden: { exception: 'SecurityException', retry: 'never' },
  Unauthorized: { exception: 'ServerSecurityException', retry: 'never' },
  DatabaseNotFound: { exception: 'DatabaseNotFoundException', retry: 'never' },
  DatabaseClosed: { exception: 'DatabaseNotFoundException', retry: 'never' },
  DatabaseReadOnly: { exception: 'DatabaseIsReadOnlyException', retry: 'never' },
  DatabaseExists: { exception: 'IllegalArgumentException', retry: 'never' },
  DatabaseInstalling: { exception: 'DatabaseIsInstallingException', retry: 'client' },
  CorruptedRecord: { exception: 'CorruptedRecordException', retry: 'never' },
  SessionNotFound: { exception: 'RemoteSessionNotFoundException', retry: 'never' },
  TransactionFailed: { exception: 'TransactionException', retry: 'never' },
  /** More rows, or more bytes of them, than one answer may hold. */
  ResultTooLarge: { exception: 'ResultSetTooLargeException', retry: 'never' },
  /** A refusal for size: statement text, record, memory of one statement. */
  TooLarge: { exception: 'ResultSetTooLargeException', retry: 'never' },
  /** The server as a whole is at a limit (memory, snapshots, sessions); certainly not executed. */
  Busy: { exception: 'ServerBusyException', retry: 'client' },
  NotOnline: { exception: 'ServerNotOnlineException', retry: 'client' },
  RequestInFlight: { exception: 'RequestStillInFlightException', retry: 'client' },
  CommittedRemotely: { exception: 'TransactionCommittedRemotelyException', retry: 'never' },
  /** Of a cluster (ha.md 12.2): only what is certainly not committed is for the client to repeat. */
  NotLeader: { exception: 'ServerIsNotTheLeaderException', retry: 'never' },
  QuorumNotReached: { exception: 'QuorumNotReachedException', retry: 'client' },
  NeedRetry: { exception: 'NeedRetryException', retry: 'client' },
  OutcomeUnknown: { exception: 'ReplicationDispatchedTimeoutException', retry: 'never' },
  EntryTooLarge: { exception: 'ReplicatedEntryTooLargeException', retry: 'never' },
  MembershipPending: { exception: 'MembershipChangeInProgressException', retry: 'client' },
  InvalidSetting: { exception: 'IllegalArgumentException', retry: 'never' },
  Internal: { exception: 'InternalException', retry: 'never' },
} as const satisfies Record<string, { exception: string; retry: 'never' | 'server' | 'client' }>;

export type ErrorCode = keyof typeof errorSpecs;

export interface ErrorDetails {
  /** Machine-readable arguments in the order of http-api.md 3.1, joined there with `|`. */
  readonly arguments?: readonly string[];
  readonly cause?: unknown;
  /** An optional hint, for example "did you mean 'name'?". */
  readonly help?: string;
  /**
   * For conflicts known before the log write: resolves (never rejects) when the transaction that stands in the way was
   * applied or has failed. The statement loop waits for it and re-executes at once, since an earlier attempt would only meet
   * the same snapshot (ha.md 5.4, limits.md 16). Absent: the loop pauses for `txRetryDelay`.
   */
  readonly blockedBy?: Promise<void>;
  /** Where in the text of the statement it is (house decision 80). */
  readonly position?: ErrorPosition;
  /** What the suite of the statement's language calls the failure; its message then begins with the detail. */
  readonly failure?: LanguageFailure;
  /** True when part of what was asked for is stored, so that the server may not execute it again, whatever the code says. */
  readonly isPartlyDone?: boolean;
}

/** A place in a text: lines and columns count characters from 1, offset and length UTF-16 units. */
export interface ErrorPosition {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
  readonly length: number;
}

/** A failure in the words of openCypher (cypher.md 16), for answers and for whoever runs its suite. */
export interface LanguageFailure {
  /** `TypeError`, `SyntaxError`, `EntityNotFound`, ... */
  readonly type: string;
  readonly phase: 'compile time' | 'runtime';
  /** `InvalidArgumentType`, `UndefinedVariable`, ... */
  readonly detail: string;
}

/**
 * A failure that a language names, as an error of the client: `<detail>: <text>`.
 * @param code another one than `IllegalArgument` where doors answer otherwise
 */
export function languageError(
  failure: LanguageFailure,
  text: string,
  code: ErrorCode = 'IllegalArgument',
): DatabaseError {
  return new DatabaseError(code, `${failure.detail}: ${text}`, { failure });
}

/**
 * The only error that crosses rooms. Messages are lower-case clauses unless reference texts fix them, name the thing,
 * the value seen and the remedy, and never hold a secret.
 */
export class DatabaseError extends Error {
  readonly code: ErrorCode;
  readonly arguments: readonly string[];
  readonly help: string | undefined;
  readonly blockedBy: Promise<void> | undefined;
  readonly isPartlyDone: boolean;
  readonly failure: LanguageFailure | undefined;
  readonly position: ErrorPosition | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'DatabaseError';
    this.code = code;
    this.arguments = details.arguments ?? [];
    this.help = details.help;
    this.blockedBy = details.blockedBy;
    this.isPartlyDone = details.isPartlyDone ?? false;
    this.failure = details.failure;
    this.position = details.position;
  }

  /** True when the server may execute the statement again after a full rollback. */
  get mayRunAgain(): boolean {
    return !this.isPartlyDone && errorSpecs[this.code].retry === 'server';
  }

  get exception(): string {
    return errorSpecs[this.code].exception;
  }
}
