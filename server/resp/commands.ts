import type { ByteText } from '#core/text/byte-text.ts';
import { doneInSlices } from '#database/key-value/long-commands.ts';
import { Pace } from '#database/key-value/pace.ts';
import {
  type CommandSpec,
  commandSpecs,
  readBytes,
  readBytesInTurns,
  takesWords,
  wrongNumber,
} from '#language/redis/commands.ts';
import type { Command } from '#query/algebra/commands.ts';
import { replyTo } from './block.ts';
import type { Client } from './client.ts';
import { connectionCommands } from './connection-commands.ts';
import { keyCommands, keySpecs } from './key-commands.ts';
import { errorReply, type Given, type LongReply, type Wire } from './reply.ts';
import { Told } from './told.ts';
import { transactionCommands } from './transaction-commands.ts';
import type { WireCommand } from './wire-command.ts';

type Entry =
  | { readonly kind: 'language'; readonly spec: CommandSpec }
  | { readonly kind: 'wire'; readonly command: WireCommand; readonly isOfBlocks: boolean };

/** By name in capital and in small letters, which is how clients write them. */
const entries = new Map<string, Entry>();
for (const spec of [...commandSpecs.values(), ...keySpecs])
  enter(spec.name, { kind: 'language', spec });
for (const command of [...connectionCommands, ...keyCommands])
  enter(command.name, { kind: 'wire', command, isOfBlocks: false });
for (const command of transactionCommands)
  enter(command.name, { kind: 'wire', command, isOfBlocks: true });

function enter(name: string, entry: Entry): void {
  entries.set(name, entry);
  entries.set(name.toLowerCase(), entry);
}

/** What the client gets for a request; never throws or rejects. */
export function execute(client: Client, words: readonly ByteText[]): Given {
  const name = words[0] ?? '';
  const entry = entries.get(name) ?? entries.get(name.toUpperCase());
  try {
    if (client.principal === undefined && !(entry?.kind === 'wire' && isForStrangers(entry)))
      return errorReply('NOAUTH Authentication required.');
    if (entry === undefined) throw new Told(unknown(words));
    return entry.kind === 'language'
      ? onLanguage(client, entry.spec, words)
      : onWire(client, entry, words);
  } catch (error) {
    const isOfBlocks = entry?.kind === 'wire' && entry.isOfBlocks;
    return isOfBlocks ? client.told(error) : refused(client, error);
  }
}

function isForStrangers({ command }: Entry & { kind: 'wire' }): boolean {
  return command.name === 'AUTH' || command.name === 'HELLO';
}

function onLanguage(client: Client, spec: CommandSpec, words: readonly ByteText[]): Given {
  if (!takesWords(spec, words)) throw new Told(`ERR ${wrongNumber(spec)}`);
  if (words.length > wordsAtOnceMax) return onLong(client, spec, words);
  return carriedOut(client, readBytes(spec, words), words);
}

/** Words of a command that is read at once: some 100 microseconds. */
const wordsAtOnceMax = 1000;

async function onLong(
  client: Client,
  spec: CommandSpec,
  words: readonly ByteText[],
): Promise<Wire | LongReply> {
  try {
    const pace = new Pace(client.surroundings.runtime);
    const command = await doneInSlices(readBytesInTurns(spec, words), pace);
    return await carriedOut(client, command, words);
  } catch (error) {
    return refused(client, error);
  }
}

function carriedOut(client: Client, command: Command, words: readonly ByteText[]): Given {
  const { block } = client;
  return block === undefined
    ? replyTo(client, { command, words })
    : block.add(client, { command, words });
}

/** What was refused when it should be queued spoils its block. */
function refused(client: Client, error: unknown): Wire {
  if (client.block !== undefined) client.block.isBad = true;
  return client.told(error);
}

function onWire(
  client: Client,
  { command, isOfBlocks }: Entry & { kind: 'wire' },
  words: readonly ByteText[],
): Given {
  const { name, argumentsMin, argumentsMax, isAlways } = command;
  const count = words.length - 1;
  if (count < argumentsMin || count > argumentsMax)
    throw new Told(`ERR wrong number of arguments for '${name.toLowerCase()}' command`);
  if (client.block !== undefined && !isOfBlocks && isAlways !== true)
    throw new Told(`ERR '${name.toLowerCase()}' is not supported between MULTI and EXEC`);
  const given = command.run(client, words);
  return given instanceof Promise ? given.catch((error) => client.told(error)) : given;
}

const shownMax = 128;

function unknown(words: readonly ByteText[]): string {
  let shown = '';
  for (const word of words.slice(1)) {
    if (shown.length >= shownMax) break;
    shown += `'${word.slice(0, shownMax - shown.length)}' `;
  }
  const name = (words[0] ?? '').slice(0, shownMax);
  return `ERR unknown command '${name}', with args beginning with: ${shown}`;
}
