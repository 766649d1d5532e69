import type { IncomingMessage } from 'node:http';
import type { ClusterDoor } from '#cluster/cluster-door.ts';
import { addresseeHeader } from '#cluster/forwarding/peer-http.ts';
import { errorSpecs } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { Refusal } from '../answer/errors.ts';
import type { Door } from '../door.ts';

/** What a request says of coming from another server of the cluster (security.md 3.1, http-api.md 19.5). */
export type PeerClaim =
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** From a server; `principal` is on whose behalf. */
  | { readonly kind: 'peer'; readonly principal: Principal | undefined };

const none: PeerClaim = { kind: 'none' };

/**
 * Internal headers count only beside the token of the cluster, and a token without a user is for the endpoints between servers.
 * Without replication no token is right, and nobody acts for somebody else.
 */
export function peerClaimOf(
  door: Pick<Door, 'cluster' | 'users' | 'authorizer'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
): PeerClaim {
  const token = headers['x-service-cluster-token'];
  const user = headers['x-service-forwarded-user'];
  if (token === undefined) {
    const claims = user !== undefined || headers['x-service-forwarded-to-leader'] !== undefined;
    return claims ? refused(tokenMissing) : none;
  }
  const addressee = headers[addresseeHeader];
  if (addressee !== undefined && addressee !== door.cluster?.view.consensus.self)
    return refused(misdirected);
  if (door.cluster?.token.accepts(String(token)) !== true) return refused(wrongToken);
  if (isFromStranger(door.cluster, headers['x-service-forwarded-from'])) return refused(noMember);
  if (user === undefined) return { kind: 'peer', principal: undefined };
  const principal = principalOf(door, String(user), headers['x-service-forwarded-rights']);
  return principal === undefined ? refused(userUnknown) : { kind: 'peer', principal };
}

/** A server that was removed keeps the token, and may not have heard yet that it is none of the members. */
function isFromStranger(
  { view }: Pick<ClusterDoor, 'view'>,
  from: string | string[] | undefined,
): boolean {
  if (from === undefined) return false;
  const { voters, votersOutgoing, learners } = view.consensus.status().configuration;
  const isIt = ({ id }: { readonly id: string }) => id === from;
  return !voters.some(isIt) && !learners.some(isIt) && !votersOutgoing.includes(String(from));
}

/** Rights are those that this server gives the user; an API token of the other server brings its own. */
function principalOf(
  { cluster, users, authorizer }: Pick<Door, 'cluster' | 'users' | 'authorizer'>,
  header: string,
  rights: string | string[] | undefined,
): Principal | undefined {
  const name = decoded(header);
  if (rights !== undefined)
    return cluster && authorizer.lent(name, cluster.token.read(String(rights)));
  if (name === undefined || users.get(name) === undefined) return undefined;
  return { name, isRoot: name === 'root', via: 'peer' };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function refused(refusal: Refusal): PeerClaim {
  return { kind: 'refused', refusal };
}

/**
 * Names outlive addresses: the address of a server that ended may be another one's, of this cluster or of a foreign one, while the
 * sender has it still. It has to look again, on a new connection.
 */
const misdirected: Refusal = {
  status: 421,
  error: 'The request is for another server',
  exception: errorSpecs.QuorumNotReached.exception,
  headers: ['X-Service-Not-Executed', '1'],
};
const wrongToken: Refusal = {
  status: 403,
  error: 'Security error',
  detail: 'Cluster token not valid',
  exception: 'ServerSecurityException',
};
const noMember: Refusal = {
  status: 503,
  error: 'The server that sends the request on is no member of the cluster',
  exception: errorSpecs.QuorumNotReached.exception,
};
const tokenMissing: Refusal = { status: 401, error: 'Cluster token required' };
const userUnknown: Refusal = { status: 401, error: 'Forwarded user is not known' };
/** For endpoints of users: a token alone is nobody. */
export const userMissing: Refusal = { status: 401, error: 'Forwarded user required' };
