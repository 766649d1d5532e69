import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { systemRuntime } from '#platform/system-runtime.ts';
import { CommandFailure, type ExitCode, exitCodes } from './terminal.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `/api/v1`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  readonly signal?: AbortSignal;
  /** An answer that says that nothing was done (503) is not the last word: an election may be on. */
  readonly isRepeatable?: boolean;
}

/** Where and as whom. */
export interface ApiTarget {
  readonly url: URL;
  /** Undefined for requests that need no credentials. */
  readonly credentials: { readonly user: string; readonly password: string } | undefined;
  /** Certificates of an authority of one's own, PEM. */
  readonly authority: string | undefined;
  /** Of requests that met an election (`service.ha.clientElection*`); default: none */
  readonly repeats?: { readonly count: number; readonly delayMs: number };
}

/** A server, over its public HTTP API. */
export class ApiClient {
  readonly target: ApiTarget;

  constructor(target: ApiTarget) {
    this.target = target;
  }

  /** @throws CommandFailure `unreachable`; an Error named `AbortError` when the signal was aborted */
  async send(request: ApiRequest): Promise<ApiAnswer> {
    const answer = await this.open(request);
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString('utf8');
    return { status: answer.statusCode ?? 0, headers: answer.headers, text };
  }

  /** As `send`; the body of the answer is read by the caller, also while that of the request is still sent. */
  async open(request: ApiRequest): Promise<IncomingMessage> {
    const { count, delayMs } = this.target.repeats ?? { count: 0, delayMs: 0 };
    const isText = request.body === undefined || typeof request.body === 'string';
    const countMax = request.isRepeatable === true && isText ? count : 0;
    for (let repeated = 0; ; repeated++) {
      const answer = await this.#openOnce(request);
      if (answer.statusCode !== 503 || repeated >= countMax) return answer;
      answer.resume();
      await systemRuntime.timers.sleep(delayMs);
      request.signal?.throwIfAborted();
    }
  }

  #openOnce(request: ApiRequest): Promise<IncomingMessage> {
    const { url, credentials, authority } = this.target;
    const target = new URL(`${url.pathname.replace(/\/$/, '')}/api/v1${request.path}`, url);
    const { body } = request;
    const headers: Record<string, string | number> = { ...request.headers };
    if (credentials !== undefined) {
      const text = `${credentials.user}:${credentials.password}`;
      headers['authorization'] = `Basic ${Buffer.from(text).toString('base64')}`;
    }
    if (typeof body === 'string') headers['content-length'] = Buffer.byteLength(body);
    const options = {
      method: request.method,
      headers,
      ...(request.signal && { signal: request.signal }),
      ...(authority !== undefined && { ca: authority }),
    };
    const sent =
      target.protocol === 'https:' ? httpsRequest(target, options) : httpRequest(target, options);
    return new Promise((resolve, reject) => {
      sent.on('response', resolve);
      sent.on('error', (error) => reject(this.#failure(error)));
      give(sent, body, reject);
    });
  }

  #failure(error: NodeJS.ErrnoException): unknown {
    if (error.name === 'AbortError') return error;
    const { origin } = this.target.url;
    const reason = reasonOf(error);
    return new CommandFailure(exitCodes.unreachable, `${origin} cannot be reached: ${reason}`);
  }
}

function give(
  sent: ClientRequest,
  body: string | Readable | undefined,
  failed: (error: unknown) => void,
): void {
  if (body === undefined || typeof body === 'string') {
    sent.end(body);
    return;
  }
  body.on('error', (error) => {
    failed(new CommandFailure(exitCodes.failed, error.message));
    sent.destroy();
  });
  body.pipe(sent);
}

/** Makes a failure of an answer that is none of 2xx, from the server's own words. */
export function requireOk(answer: ApiAnswer): ApiAnswer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw refusalOf(answer.status, answer.text);
}

/** What a server said, as a failure. */
export function refusalOf(status: number, text: string): CommandFailure {
  let told: Readonly<Record<string, unknown>> = {};
  try {
    told = JSON.parse(text);
  } catch {
    // Something in between answered, not the server.
  }
  return refusalTold(status, told);
}

/** As `refusalOf`, of an answer that was read already. */
export function refusalTold(
  status: number,
  told: Readonly<Record<string, unknown>>,
): CommandFailure {
  const { error, detail, help, position } = told;
  const isSaid = typeof help === 'string' && String(detail ?? error).includes(help);
  const parts = [error, detail === error ? undefined : detail, isSaid ? undefined : help].filter(
    (part): part is string => typeof part === 'string' && part !== '',
  );
  const message = parts.length > 0 ? parts.join(': ') : `the server answered ${status}`;
  return new CommandFailure(codeOf(status), message, placeOf(position));
}

function placeOf(position: unknown): CommandFailure['place'] {
  if (typeof position !== 'object' || position === null) return undefined;
  const { line, column } = position as Readonly<Record<string, unknown>>;
  return line === undefined ? undefined : { line: Number(line), column: Number(column) };
}

/** The exit code of what the server did not do. */
export function codeOf(status: number): ExitCode {
  return status === 401 || status === 403 ? exitCodes.refused : exitCodes.failed;
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ECONNREFUSED') return 'nobody listens there';
  return code === 'EPROTO' ? 'it does not speak TLS as this does (is it http://?)' : message;
}
