import type { Principal } from '#core/principal.ts';
import type { ByteText } from '#core/text/byte-text.ts';
import type { KeySpace, KeyWatch } from '#database/key-value/key-value-store.ts';
import { isLong, runLong } from '#database/key-value/long-commands.ts';
import { Pace } from '#database/key-value/pace.ts';
import { keysOf, runTransient, type Touch } from '#database/key-value/transient-operations.ts';
import type { Value } from '#core/value/value.ts';
import type { DatabaseHandle, RunOptions } from '#database/session.ts';
import type {
  Command,
  CommandUnit,
  RecordCommand,
  Reply,
  TransientCommand,
} from '#query/algebra/commands.ts';
import { KeyRights } from './key-rights.ts';
import { errorReply, type Given, type Protocol, toldOf, type Wire } from './reply.ts';
import type { WireSurroundings } from './surroundings.ts';
import { Told } from './told.ts';

const noParameters: ReadonlyMap<string, Value> = new Map();
const wordShownMax = 100;
const watchedKeysMax = 10_000;

/** A command between MULTI and EXEC. */
export interface Queued {
  readonly command: Command;
  readonly words: readonly ByteText[];
}

/** The commands after MULTI, as their client holds them (block.ts). */
export interface OpenBlock {
  /** A command was refused when it was queued. */
  isBad: boolean;
  /** What the commands hold. */
  readonly bytes: number;
  add(client: Client, queued: Queued): Wire;
  execute(client: Client): Given;
}

/**
 * One client of the wire, without its socket: who it is, what it has selected, watched and queued, and how its commands on keys
 * and records are carried out.
 */
export class Client {
  readonly id: number;
  readonly address: string;
  readonly surroundings: WireSurroundings;
  protocol: Protocol = 2;
  name = '';
  library = '';
  libraryVersion = '';
  block: OpenBlock | undefined;
  /** SCAN goes on with it. */
  scan: { readonly cursor: number; readonly keys: Iterator<ByteText> } | undefined;
  /** The replies so far are sent, then the connection is closed. */
  isClosing = false;
  /** Told when the client has logged in, or is nobody any more. */
  onIdentity: () => void = () => {};
  readonly locate = (written: ByteText, touch: Touch) =>
    this.rights.locate(written, touch, this.selected);
  #principal: Principal | undefined;
  #rights: KeyRights | undefined;
  #selected: string | undefined;
  #watch: { readonly state: KeyWatch; readonly keys: [KeySpace, ByteText][] } | undefined;
  #abort: AbortController | undefined;
  #isGone = false;

  constructor(id: number, address: string, surroundings: WireSurroundings) {
    this.id = id;
    this.address = address;
    this.surroundings = surroundings;
  }

  get principal(): Principal | undefined {
    return this.#principal;
  }

  get rights(): KeyRights {
    if (this.#rights === undefined) throw new Told('NOAUTH Authentication required.');
    return this.#rights;
  }

  /** The database of keys and addresses without a prefix. */
  get selected(): string | undefined {
    return this.#selected ?? this.surroundings.defaultDatabase();
  }

  select(database: string | undefined): void {
    this.#selected = database;
  }

  /** @param principal undefined: the client must log in (again) */
  identify(principal: Principal | undefined): void {
    this.#principal = principal;
    this.#rights = principal && new KeyRights(this.surroundings, principal);
    this.#selected = undefined;
    this.forgetBlock();
    this.onIdentity();
  }

  /** What a block and watched keys leave. */
  forgetBlock(): void {
    this.block = undefined;
    this.unwatch();
  }

  /** As after the connection was made, the login aside. */
  reset(): void {
    this.forgetBlock();
    this.scan = undefined;
    this.protocol = 2;
    this.name = '';
    this.identify(undefined);
  }

  leave(): void {
    this.#isGone = true;
    this.#abort?.abort();
    this.forgetBlock();
  }

  // --- watched keys

  watchKey(written: ByteText): void {
    const { keys, key } = this.locate(written, 'read');
    this.#watch ??= { state: { isTouched: false }, keys: [] };
    if (this.#watch.keys.length >= watchedKeysMax)
      throw new Told(`ERR a connection may watch ${watchedKeysMax} keys`);
    this.#watch.keys.push([keys, key]);
    keys.watch(key, this.#watch.state);
  }

  unwatch(): void {
    if (this.#watch === undefined) return;
    for (const [keys, key] of this.#watch.keys) keys.unwatch(key, this.#watch.state);
    this.#watch = undefined;
  }

  get isWatchedKeyTouched(): boolean {
    return this.#watch?.state.isTouched === true;
  }

  // --- commands

  /** A command on transient keys: at once, unless a block is about to change one of them. */
  transient(command: TransientCommand): Reply | Promise<Reply> {
    const { store, runtime } = this.surroundings;
    if (isLong(command))
      return runLong(command, { store, locate: this.locate, pace: new Pace(runtime) });
    const held = store.heldCount === 0 ? undefined : this.#heldBy(command);
    return held === undefined
      ? runTransient(command, this.locate)
      : held.then(() => this.transient(command));
  }

  #heldBy(command: TransientCommand): Promise<void> | undefined {
    for (const written of keysOf(command)) {
      const { keys, key } = this.locate(written, 'read');
      const held = keys.holdOn(key);
      if (held !== undefined) return held;
    }
    return undefined;
  }

  /**
   * Before names of databases and records are looked up: in a cluster this server first has what its readers may expect (ha.md 7.1),
   * for changes too, since one that finds nothing tells of a state as well. Undefined: it has.
   */
  beforeRead(): Promise<void> | undefined {
    return this.surroundings.cluster?.reads.before();
  }

  /** A command on records. @param words as they were sent */
  records(command: RecordCommand, words: readonly ByteText[]): Reply | Promise<Reply> {
    const wait = this.beforeRead();
    return wait === undefined
      ? this.#recordsHere(command, words)
      : wait.then(() => this.#recordsHere(command, words));
  }

  #recordsHere(command: RecordCommand, words: readonly ByteText[]): Reply | Promise<Reply> {
    const database = this.rights.databaseOf(words[1] ?? '', this.selected);
    return this.run(database, { kind: 'single', command }, textOf(words));
  }

  /** Runs a unit in a database. @param text what is shown of it */
  run(database: string, unit: CommandUnit, text: string): Reply | Promise<Reply> {
    const handle: DatabaseHandle = this.surroundings.databases.open(database);
    const isList = unit.kind === 'block';
    const result = handle.runNow(
      {
        language: 'redis',
        text,
        parameters: noParameters,
        commands: { program: { kind: 'commands', units: [unit], isList }, locate: this.locate },
      },
      this.#options(database),
    );
    const taken = (given: Awaited<typeof result>): Reply => {
      const reply = given.complete?.values[0] ?? null;
      given.close();
      return reply as Reply;
    };
    return result instanceof Promise ? result.then(taken) : taken(result);
  }

  #options(database: string): RunOptions {
    const principal = this.#principal as Principal;
    const { readTimeoutMs } = this.surroundings.authorizer.limitsOf(principal, database);
    return new WireRun(this, { principal, readTimeoutMs });
  }

  /** Aborted when the client leaves; made when it is first asked for. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isGone) this.#abort.abort();
    return this.#abort.signal;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** The error as a reply; what is nobody's fault but ours goes to the log. */
  told(error: unknown): Wire {
    if (error instanceof Told) return errorReply(error.message);
    const told = toldOf(error);
    if (told !== undefined) return errorReply(told);
    this.surroundings.onInternalError(error);
    return errorReply('ERR internal error, the server log says more');
  }
}

/** How a unit of a client is run. Each command has one: an object with a getter and closures of its own would cost a tenth of a read. */
class WireRun implements RunOptions {
  readonly principal: Principal;
  readonly readTimeoutMs: number;
  readonly mustBeIdempotent = false;
  readonly isAborted: boolean;
  readonly #client: Client;

  constructor(
    client: Client,
    { principal, readTimeoutMs }: { readonly principal: Principal; readonly readTimeoutMs: number },
  ) {
    this.#client = client;
    this.principal = principal;
    this.readTimeoutMs = readTimeoutMs;
    this.isAborted = client.isGone;
  }

  get signal(): AbortSignal {
    return this.#client.signal;
  }
}

/** Name and address of a command, for logs: values may be secrets. */
export function textOf(words: readonly ByteText[]): string {
  const text = `${words[0] ?? ''} ${words[1] ?? ''}`;
  return text.length > wordShownMax ? `${text.slice(0, wordShownMax)}...` : text;
}

export function isRecords(command: Command): command is RecordCommand {
  return command.kind === 'records';
}
