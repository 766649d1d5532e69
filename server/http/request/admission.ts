import type { IncomingMessage } from 'node:http';
import {
  serverHttpGetBodyMaxSize,
  serverHttpHeaderMaxCount,
  serverHttpUrlMaxSize,
} from '#config/server-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import type { Refusal } from '../answer/errors.ts';
import { hasBody } from './request-body.ts';

/*
 * What is refused before anybody looks at the path (limits.md 24, 25, 27): node:http takes it, or drops a part of it
 * silently.
 */

/** The refusal of a request for its form; undefined when there is none. */
export function malformed(request: IncomingMessage, settings: SettingsReader): Refusal | undefined {
  const { rawHeaders, url = '' } = request;
  const countMax = settings.get(serverHttpHeaderMaxCount);
  if (rawHeaders.length > countMax * 2)
    return {
      status: 431,
      error: 'Too many headers',
      detail: `the request has ${rawHeaders.length / 2} headers or more, ${serverHttpHeaderMaxCount.key} is ${countMax}`,
      closes: true,
    };
  const urlMax = settings.get(serverHttpUrlMaxSize);
  if (url.length > urlMax)
    return {
      status: 414,
      error: 'URI too long',
      detail: `${url.length} bytes, ${serverHttpUrlMaxSize.key} is ${urlMax}`,
      closes: true,
    };
  if (request.httpVersionMajor !== 1)
    return { status: 505, error: 'HTTP version not supported', closes: true };
  const { expect } = request.headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    return { status: 417, error: 'Expectation failed', detail: "only '100-continue' is met" };
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined)
    return { status: 400, error: `Several ${repeated} headers`, closes: true };
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return {
      status: 501,
      error: 'Transfer coding not supported',
      detail: "only 'chunked' is; a packed body is told by Content-Encoding",
      closes: true,
    };
  if (request.headers.host === undefined && request.httpVersion !== '1.0')
    return { status: 400, error: 'Host header is missing', closes: true };
  return undefined;
}

/** A header that may come once and came twice: node:http takes the first, a proxy before us perhaps the last. */
function repeatedHeader(rawHeaders: readonly string[]): 'Host' | 'Authorization' | undefined {
  let hosts = 0;
  let authorizations = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations += 1;
  }
  if (hosts > 1) return 'Host';
  return authorizations > 1 ? 'Authorization' : undefined;
}

/**
 * Reads the body of a request that should have none, and ignores it; calls `next` afterwards.
 * @param refuse called instead when the body is longer than `server.httpGetBodyMaxSize`
 */
export function skipBody(
  request: IncomingMessage,
  settings: SettingsReader,
  outcome: { readonly next: () => void; readonly refuse: (refusal: Refusal) => void },
): void {
  if (!hasBody(request)) {
    outcome.next();
    return;
  }
  const bytesMax = settings.get(serverHttpGetBodyMaxSize);
  const tooLarge: Refusal = {
    status: 413,
    error: 'Request body too large',
    detail: `a GET request may hold ${bytesMax} bytes (${serverHttpGetBodyMaxSize.key})`,
    closes: true,
  };
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) {
    outcome.refuse(tooLarge);
    return;
  }
  let length = 0;
  let isOver = false;
  request.on('data', (piece: Uint8Array) => {
    length += piece.length;
    if (length <= bytesMax || isOver) return;
    isOver = true;
    outcome.refuse(tooLarge);
  });
  request.on('end', () => {
    if (!isOver) outcome.next();
  });
}
