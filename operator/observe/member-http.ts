import { Agent, request as sendPlain } from 'node:http';
import type { ClientRequest } from 'node:http';
import { Agent as SecureAgent, request as sendSecure } from 'node:https';
import { checkServerIdentity } from 'node:tls';
import type { PeerCertificate } from 'node:tls';
import type { Runtime } from '../api/runtime.ts';
import type { MemberAddress, MemberTls, MemberTransport } from './database-client.ts';

const answerBytesMax = 4 * 1024 * 1024;
/** A host that is gone answers no packet. */
const connectMs = 1000;
const connectionsMax = 4;
/** Longer than the second between two questions to one leader; with thousands of members each open one would be kept for nothing. */
const idleMs = 5000;
/**
 * Members whose TLS session is kept for the next connection, which then takes neither a signature nor a look at the certificate. Agents
 * tell sessions apart by authority and name, so another authority begins anew, and only the process that gave a session takes it.
 */
const tlsSessionsMax = 4000;

type Request = Parameters<MemberTransport['send']>[1];
type Answer = Awaited<ReturnType<MemberTransport['send']>>;

type Check = (host: string, certificate: PeerCertificate) => Error | undefined;

/** Keep a connection or not, for both ways to a member. */
class Agents {
  readonly plain: Agent;
  readonly secure: SecureAgent;

  /** @param check of the agent: with one of each request Node would use no connection and no session again */
  constructor(options: ConstructorParameters<typeof SecureAgent>[0], check: Check) {
    this.plain = new Agent(options);
    this.secure = new SecureAgent({ ...options, checkServerIdentity: check });
  }

  close(): void {
    this.plain.destroy();
    this.secure.destroy();
  }
}

/**
 * Reaches members by the address of their pod; over TLS only those whose certificate the Cluster's authority has signed. Connections
 * of questions are kept; whoever changes something opens its own.
 */
export class MemberHttp implements MemberTransport {
  readonly #timers: Runtime['timers'];
  /** What a certificate may name, by the name of the member that is asked. */
  readonly #names = new Map<string, readonly string[]>();
  readonly #check: Check = (host, certificate) =>
    refusalOf(this.#names.get(host) ?? [host], certificate);
  readonly #kept = new Agents(
    {
      keepAlive: true,
      maxSockets: connectionsMax,
      maxFreeSockets: 1,
      timeout: idleMs,
      maxCachedSessions: tlsSessionsMax,
    },
    this.#check,
  );
  readonly #own = new Agents({ keepAlive: false }, this.#check);

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
    this.#kept.close();
    this.#own.close();
  }

  /** The address of a pod stands in no certificate; its names do. */
  #verification({ authorities, names }: MemberTls) {
    const [servername = ''] = names;
    this.#names.delete(servername);
    this.#names.set(servername, names);
    const [oldest] = this.#names.keys();
    if (this.#names.size > tlsSessionsMax && oldest !== undefined) this.#names.delete(oldest);
    return { ca: authorities, servername, rejectUnauthorized: true };
  }

  #try({ host, port, tls }: MemberAddress, request: Request, agents: Agents) {
    return new Promise<Answer | 'stale'>((resolve, reject) => {
      const options = {
        host,
        port,
        method: request.method,
        path: request.path,
        headers: {
          ...request.headers,
          ...(request.body === undefined
            ? undefined
            : { 'Content-Length': Buffer.byteLength(request.body) }),
        },
      };
      const call =
        tls === undefined
          ? sendPlain({ ...options, agent: agents.plain })
          : sendSecure({ ...options, agent: agents.secure, ...this.#verification(tls) });
      call.on('response', (answer) => {
        let body = '';
        answer.setEncoding('utf8');
        answer.on('data', (text: string) => {
          body += text;
          if (body.length > answerBytesMax) answer.destroy(new Error('the answer is too long'));
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
        answer.on('error', reject);
      });
      call.on('error', (error: NodeJS.ErrnoException) => {
        if (call.reusedSocket && error.code === 'ECONNRESET') resolve('stale');
        else reject(error);
      });
      limit(call, request.timeoutMs, this.#timers);
      call.end(request.body);
    });
  }
}

/** @returns undefined when one of the names stands in the certificate: the first is the member's own, forty others are seldom looked at */
function refusalOf(names: readonly string[], certificate: PeerCertificate): Error | undefined {
  let first: Error | undefined;
  for (const name of names) {
    const refusal = checkServerIdentity(name.replace('*', 'any'), certificate);
    if (refusal === undefined) return undefined;
    first ??= refusal;
  }
  return first;
}

/** Ends a call that takes longer in all, or longer to connect. */
function limit(call: ClientRequest, timeoutMs: number, timers: Runtime['timers']): void {
  const ended = timers.after(timeoutMs, () =>
    call.destroy(new Error(`no answer within ${timeoutMs} ms`)),
  );
  call.once('close', ended);
  call.on('socket', (socket) => {
    if (!socket.connecting) return;
    const connected = timers.after(connectMs, () =>
      call.destroy(new Error(`no connection within ${connectMs} ms`)),
    );
    socket.once('connect', connected);
    call.once('close', connected);
  });
}
