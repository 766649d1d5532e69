import { promisify } from 'node:util';
import { constants, createDeflate, createGzip, deflate, gzip } from 'node:zlib';
import type { Deflate, Gzip } from 'node:zlib';

/** Smaller answers are not packed (http-api.md 1.1). */
export const packedBytesMin = 1024;

/** A coding that both sides know. */
export interface Coding {
  readonly name: 'gzip' | 'deflate';
  /** To be sent with the answer. */
  readonly headers: readonly string[];
}

const codings: readonly Coding[] = (['gzip', 'deflate'] as const).map((name) => ({
  name,
  headers: ['Content-Encoding', name, 'Vary', 'Accept-Encoding'],
}));

/** The coding for an answer: gzip before deflate, undefined for none. @param accepted header `Accept-Encoding` */
export function negotiateCoding(accepted: string | string[] | undefined): Coding | undefined {
  if (accepted === undefined) return undefined;
  const qualities = parseQualities(String(accepted));
  const any = qualities.get('*') ?? 0;
  return codings.find((coding) => (qualities.get(coding.name) ?? any) > 0);
}

/** Names of a list such as `gzip;q=0.5, br` in lower case, with their quality. */
export function parseQualities(list: string): ReadonlyMap<string, number> {
  const qualities = new Map<string, number>();
  for (const item of list.split(',', 100)) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    const value = quality === undefined ? 1 : Number(quality.slice(2));
    if (name !== '') qualities.set(name, Number.isNaN(value) ? 0 : value);
  }
  return qualities;
}

// The fastest level: on a quick network the others cost more time than they save.
const options = { level: 1 };
const gzipWhole = promisify(gzip) as (body: Uint8Array, how: object) => Promise<Uint8Array>;
const deflateWhole = promisify(deflate) as (body: Uint8Array, how: object) => Promise<Uint8Array>;

/** Packs a whole answer, off the main thread. */
export function packBody(body: Uint8Array, coding: Coding): Promise<Uint8Array> {
  return coding.name === 'gzip' ? gzipWhole(body, options) : deflateWhole(body, options);
}

/** Packs a streamed answer; every write comes out at once. */
export function createPacker(coding: Coding): Gzip | Deflate {
  const flushing = { ...options, flush: constants.Z_SYNC_FLUSH };
  return coding.name === 'gzip' ? createGzip(flushing) : createDeflate(flushing);
}
