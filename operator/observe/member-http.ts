import { Agent, request as send } from 'node:http';
import type { ClientRequest } from 'node:http';
import type { Runtime } from '../api/runtime.ts';
import type { MemberAddress, MemberTransport } from './database-client.ts';

const answerBytesMax = 4 * 1024 * 1024;
/** A host that is gone answers no packet. */
const connectMs = 1000;
const connectionsMax = 4;

type Request = Parameters<MemberTransport['send']>[1];
type Answer = Awaited<ReturnType<MemberTransport['send']>>;

/** Reaches members by the address of their pod. Connections of questions are kept; whoever changes something opens its own. */
export class MemberHttp implements MemberTransport {
  readonly #timers: Runtime['timers'];
  readonly #kept = new Agent({ keepAlive: true, maxSockets: connectionsMax, maxFreeSockets: 1 });
  readonly #own = new Agent({ keepAlive: false });

  constructor(timers: Runtime['timers']) {
    this.#timers = timers;
  }

  async send(address: MemberAddress, request: Request): Promise<Answer> {
    const isQuestion = request.method === 'GET';
    const first = await this.#try(address, request, isQuestion ? this.#kept : this.#own);
    // The member has closed it in the very moment in which it was taken.
    if (first === 'stale') return this.#answered(address, request);
    return first;
  }

  async #answered(address: MemberAddress, request: Request): Promise<Answer> {
    const answer = await this.#try(address, request, this.#own);
    if (answer === 'stale') throw new Error('the connection broke');
    return answer;
  }

  close(): void {
    this.#kept.destroy();
    this.#own.destroy();
  }

  #try({ host, port }: MemberAddress, request: Request, agent: Agent): Promise<Answer | 'stale'> {
    return new Promise((resolve, reject) => {
      const call = send(
        {
          host,
          port,
          method: request.method,
          path: request.path,
          agent,
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
      call.on('error', (error: NodeJS.ErrnoException) => {
        if (call.reusedSocket && error.code === 'ECONNRESET') resolve('stale');
        else reject(error);
      });
      limitConnecting(call, this.#timers);
      call.end(request.body);
    });
  }
}

function limitConnecting(call: ClientRequest, timers: Runtime['timers']): void {
  call.on('socket', (socket) => {
    if (!socket.connecting) return;
    const connected = timers.after(connectMs, () =>
      call.destroy(new Error(`no connection within ${connectMs} ms`)),
    );
    socket.once('connect', connected);
    call.once('close', connected);
  });
}
