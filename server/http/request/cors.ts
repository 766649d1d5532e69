import type { IncomingMessage } from 'node:http';
import { serverHttpCorsAllowedOrigins } from '#config/server-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { HttpRefusal, type Refusal } from '../answer/errors.ts';

// Requests from pages of other sites (http-api.md 1.2, security.md 8.4).

const exposed = 'service-session-id, X-Request-Id, X-Service-Commit-Index, Retry-After';
const allowedHeaders =
  'Authorization, Content-Type, Accept, service-session-id, X-Request-Id, X-Service-Read-Consistency, X-Service-Read-After';
const allowedMethods = 'GET, POST, PUT, DELETE, OPTIONS';

/** A request that a page may have sent; an exchange is one. */
export interface PageRequest {
  readonly request: IncomingMessage;
  readonly door: { readonly settings: SettingsReader };
  header(name: string): string | undefined;
  refuse(refusal: Refusal): void;
  send(status: number, headers: readonly string[], body: Uint8Array | undefined): void;
}

/** Headers of an answer to a request that names its origin. */
export function corsHeaders(asked: PageRequest): readonly string[] {
  const origin = asked.header('origin');
  const allowed = allowedOrigin(origin, asked.door.settings);
  if (allowed === undefined) return [];
  const headers = ['Access-Control-Allow-Origin', allowed];
  headers.push('Access-Control-Expose-Headers', exposed);
  if (allowed !== '*') headers.push('Vary', 'Origin');
  return headers;
}

/** Whether a page of an allowed site asks what it may send. */
export function isPreflight(asked: PageRequest): boolean {
  if (asked.request.method !== 'OPTIONS') return false;
  if (asked.header('access-control-request-method') === undefined) return false;
  return allowedOrigin(asked.header('origin'), asked.door.settings) !== undefined;
}

/** Answers `OPTIONS` without authentication. */
export function answerPreflight(asked: PageRequest): void {
  const allowed = allowedOrigin(asked.header('origin'), asked.door.settings);
  if (allowed === undefined) {
    asked.refuse({ status: 403, error: 'Cross-origin request refused' });
    return;
  }
  asked.send(
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
export function requireAcceptedOrigin(asked: PageRequest): void {
  const origin = asked.header('origin');
  if (origin === undefined || asked.request.method === 'GET') return;
  if (allowedOrigin(origin, asked.door.settings) !== undefined) return;
  if (hostOf(origin) === asked.header('host')?.toLowerCase()) return;
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
