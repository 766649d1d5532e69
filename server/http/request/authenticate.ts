import type { IncomingMessage } from 'node:http';
import type { SettingsReader } from '#config/effective-settings.ts';
import { serverApiTokenRequireSecureTransport } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { Authentication, Refusal as AuthRefusal } from '#security/authenticator.ts';
import type { Door } from '../door.ts';
import type { Refusal } from '../answer/errors.ts';
import { HttpRefusal } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { type PeerClaim, peerClaimOf, userMissing } from '../cluster/peer-claim.ts';
import type { Route } from '../routes/route.ts';
import { requireAcceptedOrigin } from './cors.ts';

// Credentials at the HTTP layer (http-api.md 2).

const securityError = {
  status: 403,
  error: 'Security error',
  exception: 'ServerSecurityException',
};

const refusals: Readonly<Record<AuthRefusal, Refusal>> = {
  missing: {
    status: 401,
    error: 'Authentication required',
    headers: ['WWW-Authenticate', 'Basic realm="service"'],
  },
  'malformed-basic': { status: 403, error: 'Invalid Basic authentication data' },
  'wrong-password': { ...securityError, detail: 'User/Password not valid' },
  locked: {
    ...securityError,
    detail: 'Too many failed authentication attempts. Try again later.',
  },
  'unknown-scheme': { status: 403, error: 'Authentication not supported' },
  'dead-token': {
    status: 401,
    error: 'Invalid or expired authentication token',
    headers: ['WWW-Authenticate', 'Bearer'],
  },
  'dead-api-token': { status: 401, error: 'Invalid or expired API token' },
  busy: {
    status: 503,
    error: 'Too many authentication requests',
    detail: 'the queue of password checks is full (service.server.securityHashQueueSize)',
    exception: 'ServerBusyException',
    headers: ['Retry-After', '1'],
  },
};

/** Calls `next` when the request is from a user, at once if possible; else answers it. */
export function authenticated(exchange: Exchange, access: Route['access'], next: () => void): void {
  const { authenticator } = exchange.door;
  const claim = peerClaimOf(exchange.door, exchange.request);
  if (claim.kind !== 'none') {
    admitPeer(exchange, claim, access, next);
    return;
  }
  const mustBeRoot = access === 'root';
  const header = exchange.request.headers.authorization;
  const known = authenticator.authenticateNow(header, exchange.connection.lastHeader);
  if (known) {
    conclude(exchange, known, mustBeRoot, next);
    return;
  }
  const { source, requestId } = exchange;
  authenticator.authenticate(header, { source, requestId }).then(
    (found) => conclude(exchange, found, mustBeRoot, next),
    (error) => exchange.fail(error),
  );
}

/** @throws HttpRefusal 401, 403, 503 */
export async function requireUser(exchange: Exchange): Promise<void> {
  exchange.principal = await principalOf(exchange.door, exchange.request, exchange.requestId);
  exchange.isForwarded = exchange.request.headers['x-service-forwarded-user'] !== undefined;
}

/** Who a request is from. @throws HttpRefusal 401, 403, 412, 503 */
export async function principalOf(
  door: Pick<Door, 'authenticator' | 'settings' | 'cluster' | 'users' | 'authorizer'>,
  request: IncomingMessage,
  requestId: string,
): Promise<Principal> {
  const { authenticator, settings } = door;
  const claim = peerClaimOf(door, request);
  if (claim.kind === 'refused') throw new HttpRefusal(claim.refusal);
  if (claim.kind === 'peer') {
    if (claim.principal === undefined) throw new HttpRefusal(userMissing);
    return claim.principal;
  }
  const source = request.socket.remoteAddress ?? 'unknown';
  const found = await authenticator.authenticate(request.headers.authorization, {
    source,
    requestId,
  });
  return admitted(found, request, settings);
}

/** Another server asks: on behalf of a user, or at an endpoint between servers for itself. */
function admitPeer(
  exchange: Exchange,
  claim: Exclude<PeerClaim, { kind: 'none' }>,
  access: Route['access'],
  next: () => void,
): void {
  if (claim.kind === 'refused') {
    exchange.refuse(claim.refusal);
    return;
  }
  const { principal } = claim;
  if (principal === undefined && access !== 'peer') {
    exchange.refuse(userMissing);
    return;
  }
  exchange.isPeer = true;
  if (principal !== undefined) {
    exchange.isForwarded = true;
    exchange.principal = principal;
    if (access === 'root' && !principal.isRoot) {
      exchange.fail(rootOnly(principal.name));
      return;
    }
  }
  next();
}

/** @throws HttpRefusal 401, 403, 412, 503 */
function admitted(
  { principal, refusal }: Authentication,
  request: IncomingMessage,
  settings: SettingsReader,
): Principal {
  if (!principal) throw new HttpRefusal(refusals[refusal]);
  if (principal.via !== 'api-token' || 'encrypted' in request.socket) return principal;
  if (!settings.get(serverApiTokenRequireSecureTransport)) return principal;
  throw new HttpRefusal({
    status: 412,
    error: 'API tokens need a secure connection',
    detail: `use HTTPS: ${serverApiTokenRequireSecureTransport.key} is true`,
  });
}

function conclude(
  exchange: Exchange,
  found: Authentication,
  mustBeRoot: boolean,
  next: () => void,
): void {
  try {
    const principal = admitted(found, exchange.request, exchange.door.settings);
    exchange.principal = principal;
    if (mustBeRoot && !principal.isRoot) throw rootOnly(principal.name);
    if (exchange.request.headers.origin !== undefined) requireAcceptedOrigin(exchange);
  } catch (error) {
    exchange.fail(error);
    return;
  }
  next();
}

/** The refusal of everybody but root. */
export function rootOnly(user: string): DatabaseError {
  return new DatabaseError('Unauthorized', `Only root may do this, not user '${user}'`);
}
