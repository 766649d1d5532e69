import type { ClientMetadata } from '#security/token-sessions.ts';
import { requireUser } from '../request/authenticate.ts';
import { requireAcceptedOrigin } from '../request/cors.ts';
import { badRequest, HttpRefusal } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { integer, listOf, object, shared, text } from '../document/schemas.ts';
import type { Route } from './route.ts';

// Tokens (contract, Authentication; http-api.md 14).

export const login: Route = {
  method: 'POST',
  path: '/login',
  access: 'user',
  operation: {
    id: 'login',
    summary: 'Gives a token for Basic credentials',
    answers: {
      200: { description: 'The token', schema: shared('LoginResponse') },
    },
  },
  handle: (exchange, { tokens, events }) => {
    const { principal } = exchange;
    if (principal.via !== 'password')
      throw new HttpRefusal({ status: 403, error: 'Basic credentials required' });
    const token = tokens.login(principal.name, clientOf(exchange));
    const message = `User '${principal.name}' logged in from ${exchange.source}`;
    events.report('INFO', 'Security', message, null, exchange.requestId);
    exchange.jsonValue(200, { token, user: principal.name });
  },
};

/**
 * Public, because a token that is dead already must be answered 204; other credentials are checked here.
 */
export const logout: Route = {
  method: 'POST',
  path: '/logout',
  access: 'public',
  operation: {
    id: 'logout',
    takesCredentials: true,
    summary: 'Makes the token of the request invalid',
    answers: { 204: { description: 'The token is invalid' } },
  },
  handle: async (exchange, door) => {
    requireAcceptedOrigin(exchange);
    const header = exchange.request.headers.authorization;
    const token = /^bearer +(AU-.*)$/i.exec(header ?? '')?.[1]?.trim();
    if (token !== undefined) {
      door.tokens.logout(token);
      exchange.noContent();
      return;
    }
    if (/^bearer +at-/i.test(header ?? '')) throw badRequest('An API token cannot be logged out');
    await requireUser(exchange);
    exchange.noContent();
  },
};

const unknown = { type: 'string', nullable: true };
const sessionSchema = object(
  {
    token: text(),
    user: text(),
    elapsedMs: integer('Since the last request that used the token'),
    createdAt: integer('Epoch milliseconds'),
    lastUpdate: integer('Epoch milliseconds'),
    sourceIp: unknown,
    userAgent: unknown,
    country: unknown,
    city: unknown,
    issuer: text('The server of the cluster that gave it out, when it is another one'),
  },
  ['issuer'],
);

export const sessionsGet: Route = {
  method: 'GET',
  path: '/sessions',
  access: 'root',
  operation: {
    id: 'listSessions',
    summary: 'All valid tokens',
    answers: {
      200: {
        description: 'Tokens with their users',
        schema: object({ result: listOf(sessionSchema), count: integer() }),
      },
    },
  },
  handle: (exchange, { tokens }) => {
    const result = tokens.list().map(({ session, elapsedMs }) => ({
      token: session.token,
      user: session.principal.name,
      elapsedMs,
      createdAt: session.createdAt,
      lastUpdate: session.lastUpdate,
      sourceIp: session.sourceIp,
      userAgent: session.userAgent,
      country: session.country,
      city: session.city,
    }));
    const copies = tokens.copies().map(({ copy, elapsedMs }) => ({
      token: copy.token,
      user: copy.principal.name,
      elapsedMs,
      createdAt: copy.createdAt,
      lastUpdate: copy.lastUpdate,
      sourceIp: null,
      userAgent: null,
      country: null,
      city: null,
      issuer: copy.issuer,
    }));
    const all = [...result, ...copies];
    exchange.jsonValue(200, { result: all, count: all.length });
  },
};

/** What the client says of itself; never used for a decision. */
function clientOf(exchange: Exchange): ClientMetadata {
  const forwarded = exchange.header('x-forwarded-for')?.split(',')[0]?.trim();
  return {
    sourceIp: exchange.header('cf-connecting-ip') ?? forwarded ?? exchange.source,
    userAgent: exchange.header('user-agent') ?? null,
    country: exchange.header('cf-ipcountry') ?? null,
    city: exchange.header('cf-ipcity') ?? null,
  };
}
