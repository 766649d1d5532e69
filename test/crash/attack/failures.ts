/** What was asked and what a server answered with 5xx, or in a frame or line that says error. */
export interface ToldFailure {
  readonly request: string;
  readonly sent?: unknown;
  readonly answer: unknown;
}

/**
 * Exceptions that http-api.md 3.2 names for what an attack does: conflicts, limits that pass, and a stop. Everything sent here is
 * right, so any other one is the server's own fault.
 */
const namedExceptions: ReadonlySet<unknown> = new Set([
  'ConcurrentModificationException',
  'LockTimeoutException',
  'ReplicationQueueFullException',
  'ServerBusyException',
  'DatabaseIsInstallingException',
  'ServerNotOnlineException',
  // What had begun when the stop came.
  'CommandCancelledException',
]);

/** Under whatever name it comes: a database that has stopped writing, an assertion. */
const ownFault = /takes no (more )?changes|assert/i;

/** The answers of a server that failed, of all clients of an attack. The first one is kept whole, the others are counted. */
export class Failures {
  #first = '';
  #count = 0;

  judge({ request, sent, answer }: ToldFailure): void {
    const text = JSON.stringify(answer) ?? '';
    const exception = (answer as { readonly exception?: unknown } | undefined)?.exception;
    if (namedExceptions.has(exception) && !ownFault.test(text)) return;
    this.#count += 1;
    if (this.#count > 1) return;
    const asked = sent === undefined ? '' : ` ${JSON.stringify(sent).slice(0, 500)}`;
    this.#first = `${request}${asked}: ${text}`;
  }

  /** At most one sentence; the next call tells of what came after this one. */
  take(): string[] {
    const count = this.#count;
    this.#count = 0;
    if (count === 0) return [];
    return [count === 1 ? this.#first : `${this.#first}, and ${count - 1} more such failures`];
  }
}
