import type { ByteText } from '#core/text/byte-text.ts';
import type { CommandSpec } from '#language/redis/commands.ts';
import type { KeySpace } from '#database/key-value/key-value-store.ts';
import type { Client } from './client.ts';
import { Told } from './told.ts';
import type { WireCommand } from './wire-command.ts';
import { Glob } from './glob.ts';
import {
  anyArray,
  array,
  bulk,
  type Given,
  integerReply,
  type LongReply,
  type Wire,
} from './reply.ts';

const many = Number.POSITIVE_INFINITY;

/** Conveniences of the wire that may stand between MULTI and EXEC, too. */
export const keySpecs: readonly CommandSpec[] = [
  ...['DEL', 'UNLINK'].map(
    (name): CommandSpec => ({
      name,
      usage: 'key [key ...]',
      argumentsMin: 1,
      argumentsMax: many,
      takesText: false,
      read: (words) => ({ kind: 'delete', keys: words.slice(1) }),
    }),
  ),
  {
    name: 'ECHO',
    usage: 'message',
    argumentsMin: 1,
    argumentsMax: 1,
    takesText: false,
    read: (words) => ({ kind: 'constant', reply: words[1] ?? '' }),
  },
];

/** Conveniences on transient keys that clients and people expect (redis.md 2), by themselves only. */
export const keyCommands: readonly WireCommand[] = [
  { name: 'DBSIZE', argumentsMin: 0, argumentsMax: 0, run: (c) => integerReply(space(c).size) },
  { name: 'TYPE', argumentsMin: 1, argumentsMax: 1, run: type },
  { name: 'TTL', argumentsMin: 1, argumentsMax: 1, run: timeToLive },
  { name: 'PTTL', argumentsMin: 1, argumentsMax: 1, run: timeToLive },
  ...['EXPIRE', 'PEXPIRE', 'EXPIREAT', 'PEXPIREAT'].map((name) => noExpiry(name, 2, 3)),
  ...['SETEX', 'PSETEX'].map((name) => noExpiry(name, 3, 3)),
  noExpiry('GETEX', 1, many),
  { name: 'KEYS', argumentsMin: 1, argumentsMax: 1, run: keys },
  { name: 'SCAN', argumentsMin: 1, argumentsMax: 7, run: scan },
];

function noExpiry(name: string, argumentsMin: number, argumentsMax: number): WireCommand {
  const run = (): never => {
    throw new Told(`ERR unsupported command '${name}': transient keys have no expiry`);
  };
  return { name, argumentsMin, argumentsMax, run };
}

/** The map of keys without a prefix; what stands in it is told to who may read there. */
function space(client: Client): KeySpace {
  return client.locate('', 'read').keys;
}

/** As every look at a key it waits for who is about to change it. */
function whereItIs(client: Client, words: readonly ByteText[], told: (is: boolean) => Wire): Given {
  const { keys, key } = client.locate(words[1] ?? '', 'read');
  const held = keys.holdOn(key);
  if (held === undefined) return told(keys.get(key) !== undefined);
  return held.then((): Given => whereItIs(client, words, told));
}

function type(client: Client, words: readonly ByteText[]): Given {
  return whereItIs(client, words, (is) => (is ? '+string\r\n' : '+none\r\n'));
}

function timeToLive(client: Client, words: readonly ByteText[]): Given {
  return whereItIs(client, words, (is) => integerReply(is ? -1 : -2));
}

const keysPerLook = 1000;
const sliceMs = 2;

async function keys(client: Client, words: readonly ByteText[]): Promise<Wire | LongReply> {
  const { clock, timers } = client.surroundings.runtime;
  const glob = new Glob(words[1] ?? '');
  const found: ByteText[] = [];
  let startMs = clock.monotonicMs();
  let count = 0;
  for (const key of space(client).keys()) {
    if (glob.matches(key)) found.push(key);
    count += 1;
    if (count % keysPerLook !== 0 || clock.monotonicMs() - startMs < sliceMs) continue;
    await timers.yield();
    startMs = clock.monotonicMs();
  }
  return anyArray(found, bulk);
}

const scanCountMax = 10_000;

/** Goes through the keys as they stand, as many at a time as are asked for; each connection has one way through them. */
function scan(client: Client, words: readonly ByteText[]): Wire {
  const cursor = words[1] ?? '';
  if (!/^\d{1,15}$/.test(cursor)) throw new Told('ERR invalid cursor');
  const { glob, count } = scanOptions(words);
  const running = client.scan?.cursor === Number(cursor) ? client.scan : undefined;
  if (cursor !== '0' && running === undefined) return array([bulk('0'), array([])]);
  const iterator = cursor === '0' || running === undefined ? space(client).keys() : running.keys;
  const found: Wire[] = [];
  for (let at = 0; at < count; at += 1) {
    const { done, value } = iterator.next();
    if (done === true) {
      client.scan = undefined;
      return array([bulk('0'), array(found)]);
    }
    if (glob === undefined || glob.matches(value)) found.push(bulk(value));
  }
  const next = Number(cursor) + 1;
  client.scan = { cursor: next, keys: iterator };
  return array([bulk(String(next)), array(found)]);
}

function scanOptions(words: readonly ByteText[]) {
  let glob: Glob | undefined;
  let count = 10;
  for (let at = 2; at < words.length; at += 2) {
    const option = (words[at] ?? '').toUpperCase();
    const value = words[at + 1];
    if (value === undefined) throw new Told('ERR syntax error');
    if (option === 'MATCH') glob = new Glob(value);
    else if (option === 'COUNT') count = countOf(value);
    else if (option !== 'TYPE') throw new Told('ERR syntax error');
  }
  return { glob, count };
}

function countOf(text: ByteText): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new Told('ERR value is not an integer or out of range');
  return Math.min(Number(text), scanCountMax);
}
