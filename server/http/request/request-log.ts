import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '#core/log.ts';
import type { Principal } from '#core/principal.ts';

const pathLengthMax = 120;

/** What the line tells of; an exchange is one. */
export interface LoggedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal;
  readonly requestId: string;
  readonly door: { readonly log: Log };
}

/**
 * One line at level debug when an answer was sent (http-api.md 23). Never headers or bodies; of a path only its beginning,
 * since the GET form holds a statement.
 */
export function logRequest(logged: LoggedRequest, elapsedMs: number): void {
  const { request, response, principal, requestId, door } = logged;
  door.log.debug('request', {
    method: request.method,
    path: request.url?.split('?', 1)[0]?.slice(0, pathLengthMax),
    status: response.statusCode,
    complete: response.writableFinished,
    ms: Math.round(elapsedMs * 10) / 10,
    user: principal.name || undefined,
    requestId,
  });
}
