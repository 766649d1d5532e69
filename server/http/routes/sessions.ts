import type { ClientMetadata } from '#security/token-sessions.ts';
import { requireUser } from '../request/authenticate.ts';
import { requireAcceptedOrigin } from '../request/cors.ts';
import { badRequest, HttpRefusal } from '../answer/errors.ts';
import type { Exchange } from '../answer/exchange.ts';
import { integer, listOf, object, shared, text } from '../document/schemas.ts';
import type { Resource } from './resource.ts';

// Tokens (contract, Authentication; http-api.md 14).

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

export const sessions: Resource = (scope, { door }, done) => {
  scope.post(
    '/login',
    {
      config: { access: 'user' },
      schema: {
        operationId: 'login',
        summary: 'Gives a token for Basic credentials',
        response: { 200: { description: 'The token', schema: shared('LoginResponse') } },
      },
    },
    async ({ exchange }) => {
      const { principal } = exchange;
      if (principal.via !== 'password')
        throw new HttpRefusal({ status: 403, error: 'Basic credentials required' });
      const token = door.tokens.login(principal.name, clientOf(exchange));
      const message = `User '${principal.name}' logged in from ${exchange.source}`;
      door.events.report('INFO', 'Security', message, null, exchange.requestId);
      return { token, user: principal.name };
    },
  );

  // Public, because a token that is dead already must be answered 204; other credentials are checked here.
  scope.post(
    '/logout',
    {
      config: { access: 'public' },
      schema: {
        operationId: 'logout',
        takesCredentials: true,
        summary: 'Makes the token of the request invalid',
        response: { 204: { description: 'The token is invalid' } },
      },
    },
    async ({ exchange }, reply) => {
      requireAcceptedOrigin(exchange);
      const header = exchange.request.headers.authorization;
      const token = /^bearer +(AU-.*)$/i.exec(header ?? '')?.[1]?.trim();
      if (token !== undefined) door.tokens.logout(token);
      else if (/^bearer +at-/i.test(header ?? ''))
        throw badRequest('An API token cannot be logged out');
      else await requireUser(exchange);
      reply.code(204);
    },
  );

  scope.get(
    '/sessions',
    {
      config: { access: 'root' },
      schema: {
        operationId: 'listSessions',
        summary: 'All valid tokens',
        response: {
          200: {
            description: 'Tokens with their users',
            schema: object({ result: listOf(sessionSchema), count: integer() }),
          },
        },
      },
    },
    async () => {
      const result = door.tokens.list().map(({ session, elapsedMs }) => ({
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
      const copies = door.tokens.copies().map(({ copy, elapsedMs }) => ({
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
      return { result: all, count: all.length };
    },
  );
  done();
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
