import * as http from 'node:http';
import * as https from 'node:https';
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import type { Credentials } from './credentials.ts';
import { KubernetesError } from './kubernetes-error.ts';
import type { HttpAnswer, HttpRequest, HttpStream, Transport } from './port.ts';

const answerBytesMax = 64 * 1024 * 1024;
/** Until the first byte of an answer, watches included. */
const firstAnswerMs = 10_000;

/**
 * Talks to a real API server over kept-alive connections of one agent (the client library makes a new TLS agent for each
 * call). The agent is made anew when the authority's certificate changes.
 */
export class HttpTransport implements Transport {
  readonly #credentials: Credentials;
  #agent: { readonly identity: string; readonly agent: http.Agent } | undefined;

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
  }

  async send(request: HttpRequest): Promise<HttpAnswer> {
    const message = await this.#open(request);
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of message as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > answerBytesMax) throw new Error(`more than ${answerBytesMax} bytes`);
        chunks.push(chunk);
      }
    } catch (error) {
      message.destroy();
      throw noAnswer(request, error);
    }
    return {
      status: message.statusCode ?? 0,
      body: Buffer.concat(chunks).toString('utf8'),
      retryAfter: message.headers['retry-after'],
    };
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    const message = await this.#open(request);
    return {
      status: message.statusCode ?? 0,
      retryAfter: message.headers['retry-after'],
      lines: linesOf(request, message),
    };
  }

  /** Closes the connections that are not in use. */
  close(): void {
    this.#agent?.agent.destroy();
  }

  async #open(request: HttpRequest): Promise<IncomingMessage> {
    const { server } = this.#credentials;
    const [agent, headers] = await Promise.all([this.#agentFor(), this.#credentials.headers()]);
    const send = server.protocol === 'http:' ? http.request : https.request;
    return new Promise((resolve, reject) => {
      const call = send(
        new URL(request.path, server),
        {
          method: request.method,
          agent,
          // Counts from before the connection is made: packets to a service whose rules are not written yet are lost, and
          // the system alone would try that same connection for two minutes.
          timeout: Math.min(request.timeoutMs, firstAnswerMs),
          headers: {
            Accept: request.accept ?? 'application/json',
            'User-Agent': 'polyad-operator',
            ...headers,
            ...(request.body === undefined
              ? undefined
              : {
                  'Content-Type': request.contentType ?? 'application/json',
                  'Content-Length': Buffer.byteLength(request.body),
                }),
          },
          ...(request.signal === undefined ? undefined : { signal: request.signal }),
        },
        (message) => {
          // A connection on which nothing comes for this long is dead, whatever TCP believes.
          message.setTimeout(request.timeoutMs);
          resolve(message);
        },
      );
      call.on('timeout', () => call.destroy(new Error('no answer came in time')));
      call.on('error', (error) => reject(noAnswer(request, error)));
      call.end(request.body);
    });
  }

  async #agentFor(): Promise<http.Agent> {
    const { server, skipTlsVerify } = this.#credentials;
    const [ca, certificate] = await Promise.all([
      this.#credentials.authority(),
      this.#credentials.certificate(),
    ]);
    const identity = `${ca ?? ''}${certificate?.cert ?? ''}`;
    if (this.#agent?.identity === identity) return this.#agent.agent;
    const options = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 4 };
    const agent =
      server.protocol === 'http:'
        ? new http.Agent(options)
        : new https.Agent({
            ...options,
            rejectUnauthorized: !skipTlsVerify,
            ...(ca === undefined ? undefined : { ca }),
            ...certificate,
          });
    // Requests under way keep the old one until they end.
    this.#agent = { identity, agent };
    return agent;
  }
}

async function* linesOf(request: HttpRequest, message: IncomingMessage): AsyncIterable<string> {
  let failure: unknown;
  message.on('error', (error) => {
    failure = error;
  });
  try {
    yield* createInterface({ input: message, crlfDelay: Number.POSITIVE_INFINITY });
  } finally {
    message.destroy();
  }
  if (failure !== undefined) throw noAnswer(request, failure);
  if (!message.complete) throw noAnswer(request, new Error('the connection broke'));
}

/** Never carries headers or bodies: the library's own errors hold both. */
function noAnswer(request: HttpRequest, error: unknown): KubernetesError {
  const why = error instanceof Error ? error.message : String(error);
  const path = request.path.split('?')[0] ?? '';
  return new KubernetesError({
    code: 0,
    reason: 'NoAnswer',
    message: `${request.method} ${path}: ${why}`,
  });
}
