const lengthMax = 128;

/**
 * Ids of requests (http-api.md 4): the client's own one, cleaned, or `<hex time>-<hex counter>`.
 */
export class RequestIds {
  readonly #prefix: string;
  #last = 0;

  /** @param startMs makes the ids of this process differ from those of the one before */
  constructor(startMs: number) {
    this.#prefix = `${Math.floor(startMs).toString(16)}-`;
  }

  next(): string {
    this.#last += 1;
    return this.#prefix + this.#last.toString(16);
  }

  /** The client's id without control characters, cut to 128 characters; undefined when nothing is left. */
  clean(given: string | undefined): string | undefined {
    if (given === undefined) return undefined;
    // Header values arrive as Latin-1; other characters could not be sent back.
    const cleaned = given
      .replaceAll(/[^\u0020-\u007e\u00a0-\u00ff]/g, '')
      .slice(0, lengthMax)
      .trim();
    return cleaned === '' ? undefined : cleaned;
  }
}
