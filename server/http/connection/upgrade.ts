import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Principal } from '#core/principal.ts';
import { principalOf } from '../request/authenticate.ts';
import { connectionOf } from './gate.ts';
import { isAcceptedOrigin } from '../request/cors.ts';
import type { Door } from '../door.ts';
import { HttpRefusal, notOnline, refusalBody, refusalOf } from '../answer/errors.ts';
import { malformed } from '../request/admission.ts';
import type { RequestIds } from '../request/request-ids.ts';

/** A request to leave HTTP, from a known user, on a path that a door above has claimed. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What the client sent behind the request. */
  readonly head: Buffer;
  readonly principal: Principal;
  readonly requestId: string;
}

/** Takes the connection over. @throws HttpRefusal, which is answered instead */
export type UpgradeHandler = (upgrade: Upgrade) => void;

/** Whether a request asks for what doors above can give; other upgrades (h2c) are ignored, as RFC 9110 7.8 allows. */
export function isWebSocketRequest(request: IncomingMessage): boolean {
  return request.headers.upgrade?.trim().toLowerCase() === 'websocket';
}

/** Requests that leave HTTP (websocket.md 1.1): admitted like any other, answered on the bare connection when refused. */
export class Upgrades {
  readonly #handlers = new Map<string, UpgradeHandler>();
  readonly #door: Door;
  readonly #requestIds: RequestIds;

  constructor(door: Door, requestIds: RequestIds) {
    this.#door = door;
    this.#requestIds = requestIds;
  }

  /** Claims a path. */
  add(path: string, handler: UpgradeHandler): void {
    this.#handlers.set(path, handler);
  }

  /** To be called for each `upgrade` of the server. */
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // The server listens no more, and a client that leaves meanwhile is no failure.
    socket.on('error', () => socket.destroy());
    const connection = connectionOf(request);
    if (connection === undefined) socket.destroy();
    else
      connection.handOver(() => {
        connection.leave();
        this.#take(request, socket, head);
      });
  }

  #take(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const given = request.headers['x-request-id'];
    const own = given === undefined ? undefined : this.#requestIds.clean(String(given));
    const requestId = own ?? this.#requestIds.next();
    this.#admit({ request, socket, head, requestId }).catch((error: unknown) =>
      this.#refuse(socket, requestId, error),
    );
  }

  async #admit(asked: Omit<Upgrade, 'principal'>): Promise<void> {
    const { request } = asked;
    const { control, settings } = this.#door;
    const refusal = malformed(request, settings);
    if (refusal) throw new HttpRefusal(refusal);
    const path = (request.url ?? '').split('?')[0] ?? '';
    const handler = this.#handlers.get(path.replace(/(?<=.)\/$/, ''));
    if (handler === undefined) throw new HttpRefusal({ status: 404, error: 'Not found' });
    if (request.method !== 'GET') throw methodNotAllowed;
    if (!control.isOnline) throw new HttpRefusal(notOnline(control.isStopping));
    takeTokenOfProtocols(request);
    const principal = await principalOf(this.#door, request, asked.requestId);
    if (!isAcceptedOrigin(request, settings)) {
      throw new HttpRefusal({ status: 403, error: 'Cross-origin request refused' });
    }
    if (control.isStopping) throw new HttpRefusal(notOnline(true));
    // It may have been held up by answers before it. What comes is read from the next turn on, when the handler has it.
    asked.socket.resume();
    handler({ ...asked, principal });
  }

  #refuse(socket: Duplex, requestId: string, error: unknown): void {
    const refusal = refusalOf(error);
    if (!(error instanceof HttpRefusal)) this.#door.log.error('upgrade failed', { requestId });
    const body = refusalBody(refusal, requestId, this.#door.limits.hidesDetails);
    const lines = [
      `HTTP/1.1 ${refusal.status} ${reasons[refusal.status] ?? 'Refused'}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Cache-Control: no-store',
      'X-Content-Type-Options: nosniff',
      `X-Request-Id: ${requestId}`,
      'Connection: close',
    ];
    const index = this.#door.cluster?.view.appliedIndex() ?? 0;
    if (index > 0) lines.push(`X-Service-Commit-Index: ${index}`);
    const { headers = [] } = refusal;
    for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
    socket.end(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]), () =>
      socket.destroy(),
    );
  }
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  412: 'Precondition Failed',
  426: 'Upgrade Required',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

const methodNotAllowed = new HttpRefusal({
  status: 405,
  error: 'Method not allowed',
  headers: ['Allow', 'GET, OPTIONS'],
});

const tokenProtocol = /^bearer\.(.+)$/;

/**
 * Browsers send no headers with a handshake, so a bearer token may stand among its subprotocols: `polyad, bearer.<token>` (house
 * decision 79). It is taken out of the headers, so that it is neither logged nor echoed.
 */
function takeTokenOfProtocols({ headers }: IncomingMessage): void {
  const offered = headers['sec-websocket-protocol'];
  if (offered === undefined) return;
  const protocols = offered.split(',').map((protocol) => protocol.trim());
  const others = protocols.filter((protocol) => !tokenProtocol.test(protocol));
  if (others.length === protocols.length) return;
  const token = protocols.map((protocol) => tokenProtocol.exec(protocol)?.[1]).find(Boolean);
  headers.authorization ??= `Bearer ${token}`;
  if (others.length > 0) headers['sec-websocket-protocol'] = others.join(', ');
  else delete headers['sec-websocket-protocol'];
}
