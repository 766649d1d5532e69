import { redisMaxRequestSize } from '#config/redis-settings.ts';
import type { Command, Reply } from '#query/algebra/commands.ts';
import { type Client, isRecords, type OpenBlock, type Queued, textOf } from './client.ts';
import { array, errorReply, nullArray, ok, replyOf, toldOf, type Wire } from './reply.ts';
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
  execute(client: Client): Wire | Promise<Wire> {
    const { isWatchedKeyTouched } = client;
    client.forgetBlock();
    if (this.isBad)
      return errorReply('EXECABORT Transaction discarded because of previous errors.');
    if (isWatchedKeyTouched) return nullArray(client.protocol);
    return this.#queued.some(({ command }) => isRecords(command))
      ? this.#withRecords(client)
      : this.#oneByOne(client);
  }

  #oneByOne(client: Client): Wire | Promise<Wire> {
    const replies: Wire[] = [];
    let waiting: Promise<void> | undefined;
    for (const queued of this.#queued) {
      if (waiting !== undefined) {
        waiting = waiting.then(() => this.#later(client, queued, replies));
        continue;
      }
      const reply = replyTo(client, queued);
      if (typeof reply === 'string') replies.push(reply);
      else waiting = reply.then((later) => void replies.push(later));
    }
    return waiting === undefined ? array(replies) : waiting.then(() => array(replies));
  }

  async #later(client: Client, queued: Queued, replies: Wire[]): Promise<void> {
    replies.push(await replyTo(client, queued));
  }

  #withRecords(client: Client): Wire | Promise<Wire> {
    const wait = client.beforeRead();
    if (wait === undefined) return this.#whole(client);
    return wait.then(
      () => this.#whole(client),
      (error: unknown) => discarded(client, error),
    );
  }

  #whole(client: Client): Wire | Promise<Wire> {
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
    const names = new Set<string>();
    for (const { command, words } of this.#queued)
      if (isRecords(command)) names.add(client.rights.databaseOf(words[1] ?? '', client.selected));
    const [only = ''] = names;
    if (names.size > 1)
      throw new Told('ERR the commands between MULTI and EXEC are on records of several databases');
    return only;
  }

  #text(): string {
    const shown = this.#queued.slice(0, 3).map(({ words }) => textOf(words));
    return `MULTI ${shown.join('; ')}${this.#queued.length > 3 ? '; ...' : ''}`;
  }

  #wire(client: Client, replies: Reply): Wire {
    const list = Array.isArray(replies) ? (replies as readonly Reply[]) : [];
    return array(this.#queued.map(({ command }, at) => wireOf(command, list[at] ?? null, client)));
  }
}

function discarded(client: Client, error: unknown): Wire {
  const told = error instanceof Told ? error.message : toldOf(error);
  if (told === undefined) return client.told(error);
  if (!told.startsWith('ERR ')) return errorReply(told);
  return errorReply(`EXECABORT Transaction discarded: ${told.slice('ERR '.length)}`);
}

/** A command by itself; never throws. */
export function replyTo(client: Client, { command, words }: Queued): Wire | Promise<Wire> {
  try {
    const reply =
      command.kind === 'constant'
        ? command.reply
        : isRecords(command)
          ? client.records(command, words)
          : client.transient(command);
    if (!(reply instanceof Promise)) return wireOf(command, reply, client);
    return reply.then(
      (later) => wireOf(command, later, client),
      (error: unknown) => client.told(error),
    );
  } catch (error) {
    return client.told(error);
  }
}

/** Statuses are simple strings: what SET answers, and PONG. */
function wireOf(command: Command, reply: Reply, client: Client): Wire {
  if (command.kind === 'set' && !command.givesOld && reply !== null) return ok;
  if (command.kind === 'constant' && command.isStatus === true) return `+${command.reply}\r\n`;
  return replyOf(reply, client.protocol);
}
