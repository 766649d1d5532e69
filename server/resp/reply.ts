import { DatabaseError } from '#core/errors.ts';
import { type ByteText, byteTextOf } from '#core/text/byte-text.ts';
import type { Reply } from '#query/algebra/commands.ts';

/** Replies as they go over the wire: byte texts, written by `latin1`. `protocol` is the version that the client asked for. */
export type Protocol = 2 | 3;
/** A whole reply in the form of the wire. */
export type Wire = ByteText;

/** A reply whose parts are made and written one by one: those of long commands take megabytes. */
export class LongReply {
  readonly parts: Iterator<Wire>;

  constructor(parts: Iterator<Wire>) {
    this.parts = parts;
  }
}

/** What a command gives at once, or later. */
export type Given = Wire | LongReply | Promise<Wire | LongReply>;

export const ok: Wire = '+OK\r\n';

export function bulk(text: ByteText): Wire {
  return `$${text.length}\r\n${text}\r\n`;
}

export function simple(text: ByteText): Wire {
  return `+${oneLine(text)}\r\n`;
}

export function integerReply(n: number | bigint): Wire {
  return `:${n}\r\n`;
}

export function nullReply(protocol: Protocol): Wire {
  return protocol === 3 ? '_\r\n' : '$-1\r\n';
}

/** What EXEC gives when a watched key was changed. */
export function nullArray(protocol: Protocol): Wire {
  return protocol === 3 ? '_\r\n' : '*-1\r\n';
}

export function array(items: readonly Wire[]): Wire {
  return `*${items.length}\r\n${items.join('')}`;
}

/** Keys and values; a flat array for clients that know no maps. */
export function map(entries: readonly (readonly [ByteText, Wire])[], protocol: Protocol): Wire {
  const items = entries.map(([key, value]) => bulk(key) + value).join('');
  return protocol === 3 ? `%${entries.length}\r\n${items}` : `*${entries.length * 2}\r\n${items}`;
}

/** Items of an array that is made at once. */
const itemsAtOnceMax = 1000;

/** An array; a long one in parts. */
export function anyArray<T>(items: readonly T[], made: (item: T) => Wire): Wire | LongReply {
  return items.length > itemsAtOnceMax
    ? new LongReply(partsOf(items, made))
    : array(items.map(made));
}

function* partsOf<T>(items: readonly T[], made: (item: T) => Wire): Iterator<Wire> {
  yield `*${items.length}\r\n`;
  for (const item of items) yield made(item);
}

/** Of a text that is written at once: some 50 microseconds. */
const textAtOnceMax = 256 * 1024;

export function isLongText(reply: Reply): reply is ByteText {
  return typeof reply === 'string' && reply.length > textAtOnceMax;
}

function* partsOfText(text: ByteText): Iterator<Wire> {
  yield `$${text.length}\r\n`;
  for (let at = 0; at < text.length; at += textAtOnceMax) yield text.slice(at, at + textAtOnceMax);
  yield '\r\n';
}

/** As `replyOf`; a long list and a long text in parts. */
export function anyReplyOf(reply: Reply, protocol: Protocol): Wire | LongReply {
  if (isLongText(reply)) return new LongReply(partsOfText(reply));
  if (!Array.isArray(reply)) return replyOf(reply, protocol);
  return anyArray(reply as readonly Reply[], (item) => replyOf(item, protocol));
}

/** A reply of a command; texts as bulk strings. */
export function replyOf(reply: Reply, protocol: Protocol): Wire {
  if (reply === null) return nullReply(protocol);
  if (typeof reply === 'string') return bulk(reply);
  if (typeof reply !== 'object') return integerReply(reply);
  return array(reply.map((item) => replyOf(item, protocol)));
}

/** @param text its first word is the code: `ERR syntax error` */
export function errorReply(text: string): Wire {
  return `-${oneLine(byteTextOf(text))}\r\n`;
}

/** An error as the client is told of it, with its code; undefined for what is no fault of a request. */
export function toldOf(error: unknown): string | undefined {
  if (!(error instanceof DatabaseError)) return undefined;
  return `${codes[error.code] ?? 'ERR'} ${error.message}`;
}

/** Clients repeat what is told with TRYAGAIN: nothing was done. */
const codes: Partial<Record<string, string>> = {
  Forbidden: 'NOPERM',
  Unauthorized: 'NOPERM',
  ConcurrentModification: 'TRYAGAIN',
  LockTimeout: 'TRYAGAIN',
  QueueFull: 'TRYAGAIN',
  Busy: 'TRYAGAIN',
  NotOnline: 'TRYAGAIN',
  QuorumNotReached: 'TRYAGAIN',
  NeedRetry: 'TRYAGAIN',
  // Of a cluster: the text names the leader (ha.md 6.6).
  NotLeader: 'READONLY',
  DatabaseInstalling: 'TRYAGAIN',
};

function oneLine(text: string): string {
  return /[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, ' ') : text;
}
