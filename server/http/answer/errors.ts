import { DatabaseError, errorSpecs } from '#core/errors.ts';
import type { ErrorCode, ErrorPosition } from '#core/errors.ts';
import { oneLine } from '#core/log.ts';

/*
 * Failures as HTTP answers (http-api.md 3). `statusOf` is total over the error codes; a code that is added fails to
 * compile here until someone decides.
 */

interface Outcome {
  readonly status: number;
  /** The short category in field `error`; undefined means the message itself. */
  readonly text: string | undefined;
  /** Seconds after which the client may repeat. */
  readonly retryAfter?: number;
}

const cannotExecute = 'Cannot execute command';

const outcomeOf = {
  Syntax: { status: 400, text: cannotExecute },
  IllegalArgument: { status: 400, text: cannotExecute },
  Arithmetic: { status: 400, text: cannotExecute },
  NotIdempotent: { status: 400, text: 'Query is not idempotent' },
  CommandExecution: { status: 500, text: cannotExecute },
  TooManyRows: { status: 400, text: cannotExecute },
  NotSupported: { status: 400, text: cannotExecute },
  Schema: { status: 500, text: cannotExecute },
  SchemaLimit: { status: 400, text: cannotExecute },
  Validation: { status: 500, text: cannotExecute },
  DuplicatedKey: { status: 409, text: 'Found duplicate key in index' },
  OperationRunning: { status: 409, text: undefined },
  BackupNotFound: { status: 404, text: undefined },
  RecordNotFound: { status: 404, text: 'Record not found' },
  ConcurrentModification: { status: 503, text: cannotExecute },
  LockTimeout: { status: 503, text: cannotExecute },
  QueueFull: { status: 503, text: cannotExecute },
  Timeout: { status: 500, text: cannotExecute },
  Cancelled: { status: 500, text: cannotExecute },
  Forbidden: { status: 403, text: 'Security error' },
  Unauthorized: { status: 403, text: 'Security error' },
  DatabaseNotFound: { status: 500, text: 'Database does not exist' },
  DatabaseClosed: { status: 500, text: 'Database is closed' },
  DatabaseReadOnly: { status: 500, text: 'Database is read only' },
  DatabaseExists: { status: 400, text: undefined },
  DatabaseInstalling: { status: 503, text: 'Database is being installed', retryAfter: 5 },
  CorruptedRecord: { status: 500, text: cannotExecute },
  SessionNotFound: { status: 404, text: 'Remote transaction session not found or expired' },
  TransactionFailed: { status: 500, text: cannotExecute },
  ResultTooLarge: { status: 413, text: 'Result set too large' },
  TooLarge: { status: 413, text: undefined },
  Busy: { status: 503, text: undefined, retryAfter: 1 },
  NotOnline: { status: 503, text: 'Server is not online', retryAfter: 1 },
  RequestInFlight: { status: 409, text: 'Request still in flight', retryAfter: 1 },
  CommittedRemotely: { status: 409, text: 'Transaction committed remotely' },
  NotLeader: { status: 400, text: undefined },
  QuorumNotReached: { status: 503, text: 'Quorum not reached', retryAfter: 1 },
  NeedRetry: { status: 503, text: 'Not up to date yet', retryAfter: 1 },
  OutcomeUnknown: { status: 500, text: 'Outcome unknown' },
  EntryTooLarge: { status: 413, text: undefined },
  MembershipPending: { status: 409, text: undefined },
  InvalidSetting: { status: 400, text: undefined },
  Internal: { status: 500, text: 'Internal error' },
} as const satisfies Record<ErrorCode, Outcome>;

/** A failure as the client sees it, without the request id. */
export interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly detail?: string | undefined;
  readonly exception?: string | undefined;
  readonly exceptionArgs?: string | undefined;
  readonly help?: string | undefined;
  readonly position?: ErrorPosition | undefined;
  /** Further fields of the body, such as what was done before the failure. */
  readonly more?: Readonly<Record<string, unknown>>;
  /** Name, value, name, value, ... */
  readonly headers?: readonly string[];
  /** The connection is closed after the answer, what the client still sends is thrown away. */
  readonly closes?: boolean;
}

/** Thrown by the door's own code for refusals that have no error code; carries no stack. */
export class HttpRefusal {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    this.refusal = refusal;
  }
}

/** 400 with the text alone. */
export function badRequest(error: string): HttpRefusal {
  return new HttpRefusal({ status: 400, error });
}

/** The refusal of everything but probes while the server is not online. */
export function notOnline(isStopping: boolean): Refusal {
  const detail = isStopping ? 'Server is stopping' : 'Server is starting';
  return refusalOf(new DatabaseError('NotOnline', detail));
}

/** What an error becomes; anything that is not ours is an internal error. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof HttpRefusal) return error.refusal;
  if (!(error instanceof DatabaseError))
    return {
      status: 500,
      error: 'Internal error',
      detail: messageOf(error),
      exception: errorSpecs.Internal.exception,
    };
  // It led when the request began: nothing is committed, and the next leader takes it (ha.md 12.2).
  if (error.code === 'NotLeader')
    return refusalOf(new DatabaseError('QuorumNotReached', `${error.message}; run it again`));
  const outcome: Outcome = outcomeOf[error.code];
  return {
    status: outcome.status,
    error: outcome.text ?? oneLine(error.message),
    detail: messageOf(error),
    exception: error.exception,
    exceptionArgs: error.arguments.length > 0 ? error.arguments.join('|') : undefined,
    help: error.help,
    position: error.position,
    ...(error.code === 'OutcomeUnknown' ? { more: { outcome: 'unknown' } } : undefined),
    ...(outcome.retryAfter === undefined
      ? undefined
      : { headers: ['Retry-After', String(outcome.retryAfter)] }),
  };
}

/** Of what only the leader does, asked of another server. @param address where the leader is, if it is known */
export function notTheLeader(
  status: 400 | 409,
  { message, address }: { readonly message: string; readonly address: string | undefined },
): Refusal {
  return {
    status,
    error: message,
    detail: message,
    exception: errorSpecs.NotLeader.exception,
    ...(address !== undefined && { exceptionArgs: address }),
  };
}

/** The same failure under another status, where the contract names one for an endpoint. */
export function withStatus(error: unknown, status: number): HttpRefusal {
  return new HttpRefusal({ ...refusalOf(error), status });
}

/** The messages of an error and its causes, on one line. */
export function messageOf(error: unknown): string {
  const messages: string[] = [];
  let cause: unknown = error;
  for (let depth = 0; depth < 5 && cause !== undefined && cause !== null; depth++) {
    const text = oneLine(cause instanceof Error ? cause.message : String(cause));
    // A message often quotes its cause.
    if (text !== '' && !messages.some((said) => said.includes(text))) messages.push(text);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return messages.join(' -> ') || 'unknown';
}

/** What nobody expected: an error without a name of its own. Each has a line in the log that carries the request id. */
export function isInternal(refusal: Refusal): boolean {
  return refusal.exception === errorSpecs.Internal.exception;
}

/**
 * The detail of a failure. An error with a name of its own tells it in every mode; in production that of an internal error
 * stays in the log (house decision 75).
 * @param hidesDetails `server.mode` is `production`
 */
export function shownDetail(
  refusal: Refusal,
  requestId: string,
  hidesDetails: boolean,
): string | undefined {
  return hidesDetails && isInternal(refusal)
    ? `See the server log, request id ${requestId}`
    : refusal.detail;
}

/** The body of a failure. @param hidesDetails `server.mode` is `production` */
export function refusalBody(refusal: Refusal, requestId: string, hidesDetails: boolean): Buffer {
  const isServerError = refusal.status >= 500;
  const detail = shownDetail(refusal, requestId, hidesDetails);
  const body = {
    error: refusal.error,
    detail: detail ?? (isServerError ? refusal.error : undefined),
    exception: refusal.exception ?? (isServerError ? 'ServerException' : undefined),
    exceptionArgs: refusal.exceptionArgs,
    help: refusal.help,
    position: refusal.position,
    requestId,
    ...refusal.more,
  };
  return Buffer.from(JSON.stringify(body));
}
