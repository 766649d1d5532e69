import { byteTextOf, type ByteText, textOfBytes } from '#core/text/byte-text.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { Command } from '#query/algebra/commands.ts';
import { isRecordId } from './keys.ts';
import { readHDel, readHExists, readHGet, readHMGet, readHSet } from './record-commands.ts';
import { refusal } from './refusal.ts';
import * as transient from './transient.ts';

/** One command of the language. */
export interface CommandSpec {
  readonly name: string;
  /** After the name: what follows it. */
  readonly usage: string;
  /** Arguments without the name. */
  readonly argumentsMin: number;
  readonly argumentsMax: number;
  /** It is on records: its words are texts, an address first; else they are bytes. */
  readonly takesText: boolean;
  /** @throws DatabaseError `IllegalArgument` */
  readonly read: (words: readonly string[]) => Command;
}

const many = Number.POSITIVE_INFINITY;

/** Every command on keys and records (contract 2), by name. */
export const commandSpecs: ReadonlyMap<string, CommandSpec> = new Map(
  [
    onKeys('GET', 'key', 1, 1, transient.readGet),
    onKeys('SET', 'key value [NX | XX] [GET]', 2, many, transient.readSet),
    onKeys('GETDEL', 'key', 1, 1, transient.readGetDel),
    onKeys('EXISTS', 'key [key ...]', 1, many, transient.readExists),
    onKeys('INCR', 'key', 1, 1, transient.readStep(1)),
    onKeys('DECR', 'key', 1, 1, transient.readStep(-1)),
    onKeys('INCRBY', 'key increment', 2, 2, transient.readIncrBy),
    onKeys('DECRBY', 'key decrement', 2, 2, transient.readDecrBy),
    onKeys('INCRBYFLOAT', 'key increment', 2, 2, transient.readIncrByFloat),
    onKeys('PING', '[message]', 0, 1, readPing),
    onRecords('HGET', 'address key', 1, 2, readHGet),
    onRecords('HMGET', 'address key [key ...]', 1, many, readHMGet),
    onRecords('HEXISTS', 'address key', 1, 2, readHExists),
    onRecords('HDEL', 'address key [key ...]', 1, many, readHDel),
    onRecords('HSET', 'address [key] json [[key] json ...]', 2, many, readHSet),
    onRecords('HMSET', 'address [key] json [[key] json ...]', 2, many, readHSet),
  ].map((spec) => [spec.name, spec]),
);

function readPing(words: readonly string[]): Command {
  const [, message] = words;
  return message === undefined
    ? { kind: 'constant', reply: 'PONG', isStatus: true }
    : { kind: 'constant', reply: message };
}

function onKeys(
  name: string,
  usage: string,
  argumentsMin: number,
  argumentsMax: number,
  read: CommandSpec['read'],
): CommandSpec {
  return { name, usage, argumentsMin, argumentsMax, takesText: false, read };
}

function onRecords(
  name: string,
  usage: string,
  argumentsMin: number,
  argumentsMax: number,
  read: CommandSpec['read'],
): CommandSpec {
  return { name, usage, argumentsMin, argumentsMax, takesText: true, read };
}

/** Whether it may have so many words, its name included. Only a record id says by itself what is meant, other addresses do not. */
export function takesWords(spec: CommandSpec, words: readonly string[]): boolean {
  const count = words.length - 1;
  if (count === 1 && spec.takesText && !isRecordId(words[1] ?? '')) return false;
  return count >= spec.argumentsMin && count <= spec.argumentsMax;
}

/** The message for a wrong number of words. */
export function wrongNumber({ name }: CommandSpec): string {
  return `wrong number of arguments for '${name.toLowerCase()}' command`;
}

/** A command whose words are texts, with places to pause. @throws DatabaseError `IllegalArgument` */
export function* readTexts(spec: CommandSpec, words: readonly string[]): PausingWork<Command> {
  return spec.read(spec.takesText ? words : yield* each(words, byteTextOf));
}

/** A command whose words are bytes. @throws DatabaseError `IllegalArgument` */
export function readBytes(spec: CommandSpec, words: readonly ByteText[]): Command {
  return spec.read(spec.takesText ? words.map(requireText) : words);
}

/** As `readBytes`, with places to pause. */
export function* readBytesInTurns(
  spec: CommandSpec,
  words: readonly ByteText[],
): PausingWork<Command> {
  return spec.read(spec.takesText ? yield* each(words, requireText) : words);
}

/** Words between two places to pause: some 100 microseconds. */
const wordsPerStep = 1000;

function* each(words: readonly string[], made: (word: string) => string): PausingWork<string[]> {
  const others: string[] = [];
  for (const word of words) {
    others.push(made(word));
    if (others.length % wordsPerStep === 0) yield;
  }
  return others;
}

function requireText(bytes: ByteText): string {
  const text = textOfBytes(bytes);
  if (text === undefined) throw refusal('an argument is not valid UTF-8');
  return text;
}
