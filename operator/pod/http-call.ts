import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';

export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  /** Certificate authority that signs the other side, for https. */
  readonly authority?: string;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

const answerBytesMax = 1024 * 1024;

/** One request over a connection of its own. @throws Error when there is no whole answer in time */
export function call(given: Call): Promise<Answer> {
  const { method, headers = {}, body = '', timeoutMs, authority } = given;
  const request = given.url.startsWith('https:') ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const sent = request(given.url, {
      method,
      headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
      agent: false,
      signal: AbortSignal.timeout(timeoutMs),
      ...(authority === undefined ? undefined : { ca: authority }),
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('error', reject);
      response.on('data', (piece: string) => {
        text += piece;
        if (text.length > answerBytesMax) sent.destroy(new Error('the answer is too long'));
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    sent.end(body);
  });
}

export function basicAuthorization(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`, 'utf8').toString('base64')}`;
}
