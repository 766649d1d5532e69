import { redisMaxRequestSize } from '#config/redis-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { ByteText } from '#core/text/byte-text.ts';
import type { KeySpace } from '#database/key-value/key-value-store.ts';
import { isLong, runLongStaged } from '#database/key-value/long-commands.ts';
import { Pace } from '#database/key-value/pace.ts';
import { keysOf, runTransient } from '#database/key-value/transient-operations.ts';
import type { Command, Reply, TransientCommand } from '#query/algebra/commands.ts';
import { type Client, isRecords, type OpenBlock, type Queued, textOf } from './client.ts';
import {
  anyArray,
  anyReplyOf,
  array,
  errorReply,
  type Given,
  isLongText,
  type LongReply,
} from './reply.ts';
import { nullArray, ok, replyOf, toldOf, type Wire } from './reply.ts';
import { Told } from './told.ts';

/** What a queued word takes beside its bytes. */
const wordBytes = 32;

/** The commands after MULTI (redis.md 6). */
export class Block implements OpenBlock {
  readonly #queued: Queued[] = [];
  /** What the commands hold. */
  bytes = 0;
  /** A command was refused when it was queued. */
  isBad = false;

  add(client: Client, queued: Queued): Wire {
    for (const word of queued.words) this.bytes += word.length + wordBytes;
    const bytesMax = client.surroundings.settings.get(redisMaxRequestSize);
    if (this.bytes > bytesMax)
      throw new Told(
        `ERR the commands after MULTI have more than ${bytesMax} bytes (${redisMaxRequestSize.key})`,
      );
    this.#queued.push(queued);
    return '+QUEUED\r\n';
  }

  /** EXEC. Commands on transient keys alone fail one by one, as in Redis; with records among them it is all or nothing. */
  execute(client: Client): Given {
    client.block = undefined;
    if (this.isBad) {
      client.unwatch();
      return errorReply('EXECABORT Transaction discarded because of previous errors.');
    }
    if (this.#queued.some(({ command }) => isRecords(command))) return this.#withRecords(client);
    return this.#isLong ? this.#inSlices(client) : this.#unlessTouched(client, this.#oneByOne);
  }

  get #isLong(): boolean {
    if (this.#queued.length > commandsAtOnceMax) return true;
    return this.#queued.some(({ command }) => isTransient(command) && isLong(command));
  }

  /** Watched keys count up to the moment in which the first command is carried out. */
  #unlessTouched(client: Client, run: (client: Client) => Given): Given {
    const { isWatchedKeyTouched } = client;
    client.unwatch();
    return isWatchedKeyTouched ? nullArray(client.protocol) : run.call(this, client);
  }

  #oneByOne(client: Client): Given {
    const replies: Wire[] = [];
    let waiting: Promise<void> | undefined;
    for (const queued of this.#queued) {
      if (waiting !== undefined) {
        waiting = waiting.then(() => this.#later(client, queued, replies));
        continue;
      }
      const reply = shapedReply(client, queued, wireOf);
      if (typeof reply === 'string') replies.push(reply);
      else waiting = reply.then((later) => void replies.push(later));
    }
    return waiting === undefined ? array(replies) : waiting.then(() => array(replies));
  }

  async #later(client: Client, queued: Queued, replies: Wire[]): Promise<void> {
    replies.push(await shapedReply(client, queued, wireOf));
  }

  /** Many commands on transient keys take several turns, in which nobody else gets at the keys. */
  async #inSlices(client: Client): Promise<Wire | LongReply> {
    const { store, runtime } = client.surroundings;
    const pace = new Pace(runtime);
    const spaces = new Set<KeySpace>();
    for (const { command } of this.#queued) {
      if (!isTransient(command)) continue;
      for (const key of keysOf(command)) {
        addSpace(client, key, spaces);
        if (pace.isSpent) await pace.pause();
      }
    }
    return store.alone(spaces, async () =>
      this.#unlessTouched(client, () => this.#all(client, pace)),
    );
  }

  async #all(client: Client, pace: Pace): Promise<Wire | LongReply> {
    const replies: Wire[] = [];
    for (const { command } of this.#queued) {
      replies.push(await ownersReply(client, command, pace));
      if (pace.isSpent) await pace.pause();
    }
    return anyArray(replies, (reply) => reply);
  }

  #withRecords(client: Client): Given {
    const wait = client.beforeRead();
    if (wait === undefined) return this.#unlessTouched(client, this.#whole);
    return wait.then(
      () => this.#unlessTouched(client, this.#whole),
      (error: unknown) => {
        client.unwatch();
        return discarded(client, error);
      },
    );
  }

  #whole(client: Client): Given {
    try {
      const database = this.#database(client);
      const commands = this.#queued.map(({ command }) => command);
      const given = client.run(database, { kind: 'block', commands }, this.#text());
      return given instanceof Promise
        ? given.then(
            (replies) => this.#wire(client, replies),
            (error: unknown) => discarded(client, error),
          )
        : this.#wire(client, given);
    } catch (error) {
      return discarded(client, error);
    }
  }

  /** A transaction is one of one database. */
  #database(client: Client): string {
    const addresses = new Set<string>();
    for (const { command, words } of this.#queued)
      if (isRecords(command)) addresses.add(words[1] ?? '');
    const names = new Set<string>();
    for (const address of addresses) names.add(client.rights.databaseOf(address, client.selected));
    const [only = ''] = names;
    if (names.size > 1)
      throw new Told('ERR the commands between MULTI and EXEC are on records of several databases');
    return only;
  }

  #text(): string {
    const shown = this.#queued.slice(0, 3).map(({ words }) => textOf(words));
    return `MULTI ${shown.join('; ')}${this.#queued.length > 3 ? '; ...' : ''}`;
  }

  #wire(client: Client, replies: Reply): Wire | LongReply {
    const list = Array.isArray(replies) ? (replies as readonly Reply[]) : [];
    let at = 0;
    return anyArray(this.#queued, ({ command }) => wireOf(command, list[at++] ?? null, client));
  }
}

function discarded(client: Client, error: unknown): Wire {
  const told = error instanceof Told ? error.message : toldOf(error);
  if (told === undefined) return client.told(error);
  if (!told.startsWith('ERR ')) return errorReply(told);
  return errorReply(`EXECABORT Transaction discarded: ${told.slice('ERR '.length)}`);
}

/** Commands of a block that are carried out at once: some 200 microseconds. */
const commandsAtOnceMax = 500;

function isTransient(command: Command): command is TransientCommand {
  return command.kind !== 'constant' && command.kind !== 'records';
}

/** A key that the client may not use has none: its command says so. */
function addSpace(client: Client, key: ByteText, spaces: Set<KeySpace>): void {
  try {
    spaces.add(client.locate(key, 'read').keys);
  } catch (error) {
    if (!(error instanceof DatabaseError) && !(error instanceof Told)) throw error;
  }
}

/** A command of who has the keys for himself; never rejects. */
async function ownersReply(client: Client, command: Command, pace: Pace): Promise<Wire> {
  try {
    if (!isTransient(command)) return await shapedReply(client, { command, words: [] }, wireOf);
    const reply = isLong(command)
      ? await runLongStaged(command, client.locate, pace)
      : runTransient(command, client.locate);
    return wireOf(command, reply, client);
  } catch (error) {
    return client.told(error);
  }
}

/** A command by itself; never throws. */
export function replyTo(client: Client, queued: Queued): Given {
  return shapedReply(client, queued, longOf);
}

function shapedReply<T>(
  client: Client,
  { command, words }: Queued,
  shape: (command: Command, reply: Reply, client: Client) => T,
): T | Wire | Promise<T | Wire> {
  try {
    const reply =
      command.kind === 'constant'
        ? command.reply
        : isRecords(command)
          ? client.records(command, words)
          : client.transient(command);
    if (!(reply instanceof Promise)) return shape(command, reply, client);
    return reply.then(
      (later) => shape(command, later, client),
      (error: unknown) => client.told(error),
    );
  } catch (error) {
    return client.told(error);
  }
}

function longOf(command: Command, reply: Reply, client: Client): Wire | LongReply {
  return Array.isArray(reply) || isLongText(reply)
    ? anyReplyOf(reply, client.protocol)
    : wireOf(command, reply, client);
}

/** Statuses are simple strings: what SET answers, and PONG. */
function wireOf(command: Command, reply: Reply, client: Client): Wire {
  if (command.kind === 'set' && !command.givesOld && reply !== null) return ok;
  if (command.kind === 'constant' && command.isStatus === true) return `+${command.reply}\r\n`;
  return replyOf(reply, client.protocol);
}
