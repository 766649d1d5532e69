import { Agent, request as send } from 'node:http';
import type { MemberAddress, MemberTransport } from './database-client.ts';

const answerBytesMax = 4 * 1024 * 1024;

/** Reaches members by the address of their pod. Connections are closed after each call: there are few of them. */
export class MemberHttp implements MemberTransport {
  readonly #agent = new Agent({ keepAlive: false });

  send(
    { host, port }: MemberAddress,
    request: Parameters<MemberTransport['send']>[1],
  ): ReturnType<MemberTransport['send']> {
    return new Promise((resolve, reject) => {
      const call = send(
        {
          host,
          port,
          method: request.method,
          path: request.path,
          agent: this.#agent,
          headers: {
            ...request.headers,
            ...(request.body === undefined
              ? undefined
              : { 'Content-Length': Buffer.byteLength(request.body) }),
          },
          signal: AbortSignal.timeout(request.timeoutMs),
        },
        (answer) => {
          let body = '';
          answer.setEncoding('utf8');
          answer.on('data', (text: string) => {
            body += text;
            if (body.length > answerBytesMax) answer.destroy(new Error('the answer is too long'));
          });
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
          answer.on('error', reject);
        },
      );
      call.on('error', reject);
      call.end(request.body);
    });
  }
}
