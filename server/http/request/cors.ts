import type { IncomingMessage } from 'node:http';
import { serverHttpCorsAllowedOrigins } from '#config/server-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import type { Exchange } from '../answer/exchange.ts';
import { HttpRefusal } from '../answer/errors.ts';

// Requests from pages of other sites (http-api.md 1.2, security.md 8.4).

const exposed = 'service-session-id, X-Request-Id, X-Service-Commit-Index, Retry-After';
const allowedHeaders =
  'Authorization, Content-Type, Accept, service-session-id, X-Request-Id, X-Service-Read-Consistency, X-Service-Read-After';
const allowedMethods = 'GET, POST, PUT, DELETE, OPTIONS';

/** Headers of an answer to a request that names its origin. */
export function corsHeaders(exchange: Exchange): readonly string[] {
  const origin = exchange.header('origin');
  const allowed = allowedOrigin(origin, exchange.door.settings);
  if (allowed === undefined) return [];
  const headers = ['Access-Control-Allow-Origin', allowed];
  headers.push('Access-Control-Expose-Headers', exposed);
  if (allowed !== '*') headers.push('Vary', 'Origin');
  return headers;
}

/** Whether a page of an allowed site asks what it may send. */
export function isPreflight(exchange: Exchange): boolean {
  if (exchange.request.method !== 'OPTIONS') return false;
  if (exchange.header('access-control-request-method') === undefined) return false;
  return allowedOrigin(exchange.header('origin'), exchange.door.settings) !== undefined;
}

/** Answers `OPTIONS` without authentication. */
export function answerPreflight(exchange: Exchange): void {
  const allowed = allowedOrigin(exchange.header('origin'), exchange.door.settings);
  if (allowed === undefined) {
    exchange.refuse({ status: 403, error: 'Cross-origin request refused' });
    return;
  }
  exchange.send(
    204,
    [
      'Access-Control-Allow-Methods',
      allowedMethods,
      'Access-Control-Allow-Headers',
      allowedHeaders,
      'Access-Control-Max-Age',
      '600',
    ],
    undefined,
  );
}

/**
 * Refuses a request that a page of another site makes with the browser's remembered credentials.
 * @throws HttpRefusal 403
 */
export function requireAcceptedOrigin(exchange: Exchange): void {
  const origin = exchange.header('origin');
  if (origin === undefined || exchange.request.method === 'GET') return;
  if (allowedOrigin(origin, exchange.door.settings) !== undefined) return;
  if (hostOf(origin) === exchange.header('host')?.toLowerCase()) return;
  throw new HttpRefusal({ status: 403, error: 'Cross-origin request refused' });
}

/** Whether an upgrade is from no page, a page of this machine, of the same host, or of an allowed origin. */
export function isAcceptedOrigin(request: IncomingMessage, settings: SettingsReader): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined || allowedOrigin(origin, settings) !== undefined) return true;
  const from = hostOf(origin);
  if (from === undefined) return false;
  const name = from.replace(/:\d+$/, '');
  const isLoopback = name === 'localhost' || name === '[::1]' || /^127(\.\d+){3}$/.test(name);
  return isLoopback || from === host?.toLowerCase();
}

function allowedOrigin(origin: string | undefined, settings: SettingsReader): string | undefined {
  const list = settings.get(serverHttpCorsAllowedOrigins);
  if (origin === undefined || list === '') return undefined;
  const allowed = list.split(',').map((entry) => entry.trim());
  if (allowed.includes(origin)) return origin;
  return allowed.includes('*') ? '*' : undefined;
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host.toLowerCase() : undefined;
}
