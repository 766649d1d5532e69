import type { Readable } from 'node:stream';
import type { ForwardRequest } from '#cluster/forwarding/forwarder.ts';
import type { PeerAnswer } from '#cluster/forwarding/peer-http.ts';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import { haProxyMaxBodySize } from '#config/cluster-http-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import { HttpRefusal, notTheLeader, withStatus } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { corsHeaders } from '../request/cors.ts';
import { sessionHeader } from '../answer/statement-run.ts';
import type { RouteDescription } from '../routes/route.ts';

// Requests that another server of the cluster executes (ha.md 6).

/** Where a request is to be executed, when that is not simply here. */
export type Elsewhere =
  /** `isSeenHere`: who asks this server next finds what was done, as users and databases. */
  | { readonly kind: 'leader'; readonly isSeenHere?: true }
  /** The server that began the transaction session. */
  | { readonly kind: 'owner'; readonly owner: PeerId }
  /** One server, whatever its role. */
  | { readonly kind: 'server'; readonly id: PeerId };

const leader: Elsewhere = { kind: 'leader' };
const leaderOfServers: Elsewhere = { kind: 'leader', isSeenHere: true };

/** Of requests that say by route and headers where they belong; undefined: here, as far as that goes. */
export function placeOf(
  exchange: Exchange,
  route: RouteDescription,
  cluster: ClusterDoor,
): Elsewhere | undefined {
  if (route.operation?.takesSession) {
    const sessionId = exchange.header(sessionHeader);
    if (sessionId !== undefined && sessionId !== '') {
      const owner = cluster.forwarder.ownerOf(sessionId);
      const isElsewhere = owner !== undefined && owner !== cluster.view.consensus.self;
      return isElsewhere ? { kind: 'owner', owner } : undefined;
    }
  }
  if (route.place !== 'leader' || leadsHere(cluster)) return undefined;
  return route.access === 'root' ? leaderOfServers : leader;
}

/** This server takes writes. */
export function leadsHere({ view }: ClusterDoor): boolean {
  const { role, leaderReady } = view.consensus.status();
  return role === 'leader' && leaderReady;
}

/**
 * Has another server answer the request; what is then wrong becomes the answer, too.
 * @param body what was read of the body already; undefined: nothing
 * @returns false when this server has become the one to execute it
 */
export async function sendOn(
  exchange: Exchange,
  place: Elsewhere,
  body?: Uint8Array | Readable,
): Promise<boolean> {
  const { cluster } = exchange.door;
  if (cluster === undefined) return false;
  if (exchange.isForwarded && place.kind !== 'server' && !leadsHere(cluster))
    requireToLead(cluster);
  const given = body ?? (await exchange.body());
  if (given instanceof Uint8Array) requireAllowedLength(given, exchange);
  const request = requestOf(exchange, given);
  if (place.kind === 'leader') {
    const forwarded = await cluster.forwarder.toLeader(request).catch(asGateway);
    if (forwarded.kind === 'here') return false;
    if (place.isSeenHere) {
      const index = Number(forwarded.answer.header('x-service-commit-index'));
      if (Number.isSafeInteger(index)) await cluster.caughtUp.with(index);
    }
    await relay(exchange, forwarded.answer);
    return true;
  }
  if (place.kind === 'server') {
    await relay(exchange, await cluster.forwarder.toPeer(request, place.id).catch(asGateway));
    return true;
  }
  // A session ends when its server leads no more.
  const current = await cluster.forwarder.leader(request.signal);
  if (current !== place.owner) throw endedByLeadership(exchange);
  await relay(exchange, await cluster.forwarder.toPeer(request, place.owner).catch(asGateway));
  return true;
}

/** One hop only: whoever sent it looks for the leader anew (ha.md 6.2 rule 5). */
function requireToLead({ view, addresses }: ClusterDoor): void {
  const { role, leader: current } = view.consensus.status();
  if (role === 'leader') return;
  const address = current === undefined ? undefined : addresses.addresses('http').get(current);
  const message = `Server '${view.serverName}' is not the leader${current === undefined ? '' : `, ${current} is`}`;
  const headers = ['X-Service-Not-Executed', '1'];
  throw new HttpRefusal({ ...notTheLeader(400, { message, address }), headers });
}

/** What may have been executed elsewhere is 504 here (ha.md 12.2). */
function asGateway(error: unknown): never {
  const isUnknown = error instanceof DatabaseError && error.code === 'OutcomeUnknown';
  throw isUnknown ? withStatus(error, 504) : error;
}

/** As of every session that has ended: 500 on commit and rollback (house decision 51). */
function endedByLeadership({ request }: Exchange): unknown {
  const detail = 'the transaction session has ended: leadership changed';
  const error = new DatabaseError('SessionNotFound', detail);
  if (!/\/(commit|rollback)\//.test(request.url ?? '')) return error;
  return new HttpRefusal({ ...withStatus(error, 500).refusal, exception: 'TransactionException' });
}

/** It is held until the leader is reached, so that it can be sent to the next one. @throws HttpRefusal 413 */
function requireAllowedLength({ length }: Uint8Array, { door }: Exchange): void {
  const bytesMax = door.settings.get(haProxyMaxBodySize);
  if (length <= bytesMax) return;
  throw new HttpRefusal({
    status: 413,
    error: 'Request body too large',
    detail: `a body that is sent on to the leader may have ${bytesMax} bytes (${haProxyMaxBodySize.key})`,
  });
}

function requestOf(exchange: Exchange, body: Uint8Array | Readable): ForwardRequest {
  const { request, principal, door } = exchange;
  const isEmpty = body instanceof Uint8Array && body.length === 0;
  return {
    method: request.method ?? 'POST',
    path: request.url ?? '/',
    headers: request.headers,
    body: isEmpty && request.method === 'GET' ? undefined : body,
    principal,
    rights: door.authorizer.rightsToLend(principal),
    requestId: exchange.requestId,
    hasClientRequestId: exchange.hasClientRequestId,
    source: exchange.source,
    signal: exchange.connection.signal,
  };
}

/** Of one connection, not of the answer. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-service-not-executed',
]);

/** Gives the answer on as it comes, at the speed of the client. A client that left does not stop what is executed. */
async function relay(exchange: Exchange, { status, headers, body }: PeerAnswer): Promise<void> {
  const { response, request, door } = exchange;
  const all: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]];
    if (!hopByHop.has(name.toLowerCase())) all.push(name, value);
  }
  if (request.headers.origin !== undefined) all.push(...corsHeaders(exchange));
  const isUnread = !request.complete && !request.readableEnded;
  if (door.control.isStopping || isUnread) all.push('Connection', 'close');
  if (exchange.isAnswered) {
    body.resume();
    return;
  }
  response.writeHead(status, all);
  await new Promise<void>((resolve) => {
    const stopped = () => {
      body.unpipe(response);
      body.resume();
      resolve();
    };
    response.once('close', stopped);
    body.once('error', () => response.destroy());
    body.once('aborted', () => response.destroy());
    body.once('end', () => response.off('close', stopped));
    response.once('finish', () => resolve());
    body.pipe(response);
  });
}
