import type { DatabaseHandle, DatabasesPort } from '#database/session.ts';
import type { ChangeKind, ChangeSubscriber, LostChanges } from '#database/events.ts';
import type { Runtime } from '#core/runtime.ts';
import { isList, type ValueMap } from '#core/value/value.ts';
import { JsonWriter, type NameCache } from '#http/answer/json-writer.ts';
import type { GroupAuthorizer } from '#security/authorizer.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { RecordChange } from '#transaction/transaction.ts';
import { type Client, closeCode, textFrame } from './client.ts';
import { FrameError, messageError, optionalText, requiredText } from './frames.ts';

export interface ChangeFeedOptions {
  readonly databases: DatabasesPort;
  readonly authorizer: GroupAuthorizer;
  readonly names: NameCache;
  readonly runtime: Runtime;
  /** Ends the connection of a client whose credentials are worth nothing any more. @returns whether they are good */
  readonly isStillKnown: (client: Client) => boolean;
}

interface Subscription {
  /** Exact name; undefined: all types. */
  readonly type: string | undefined;
  readonly kinds: ReadonlySet<ChangeKind>;
}

/** An event as it goes to all who want it. */
interface EventFrame {
  readonly kind: ChangeKind;
  readonly typeName: string;
  readonly frame: Buffer;
  /** Events that did not fit into the queue and stood here; 0: it is an event, in `frame`. */
  readonly lostCount: number;
}

const noFrame = Buffer.alloc(0);
const allKinds: ReadonlySet<ChangeKind> = new Set<ChangeKind>(['create', 'update', 'delete']);
const subscribedAnswer = JSON.stringify({ result: 'ok', action: 'subscribe' });
const unsubscribedAnswer = JSON.stringify({ result: 'ok', action: 'unsubscribe' });

/** Bound of the subscriptions of one connection to one database, since each event is compared with all of them. */
const subscriptionsMax = 1000;

/** Who of all connections gets which change events (websocket.md 3). */
export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #audiences = new Map<string, Audience>();

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    options.databases.watch({
      opened: (database) => this.#audiences.get(database.name)?.attend(database),
      dropped: (name) => this.#audiences.delete(name),
    });
  }

  /** @throws FrameError, DatabaseError */
  subscribe(client: Client, frame: ValueMap): void {
    const database = requiredText(frame, 'database');
    const type = optionalText(frame, 'type');
    const kinds = changeKinds(frame);
    const { databases, authorizer } = this.#options;
    const { principal } = client;
    // Before the look-up: whether a foreign database exists is nobody's business.
    if (!authorizer.canReadSome(principal, database)) throw mayNotRead(principal.name, database);
    const audience = this.#audienceOf(databases.open(database));
    audience.add(client, { type, kinds });
    client.send(subscribedAnswer);
  }

  /** Drops the subscriptions to a database, with `type` only those that name it. @throws FrameError */
  unsubscribe(client: Client, frame: ValueMap): void {
    const database = requiredText(frame, 'database');
    const type = optionalText(frame, 'type');
    this.#audiences.get(database)?.remove(client, type);
    client.send(unsubscribedAnswer);
  }

  /** The connection is gone. */
  forget(client: Client): void {
    for (const audience of [...this.#audiences.values()]) audience.remove(client, undefined);
  }

  #audienceOf(database: DatabaseHandle): Audience {
    const known = this.#audiences.get(database.name);
    if (known !== undefined) return known;
    const { name } = database;
    const audience = new Audience(database, this.#options, () => this.#audiences.delete(name));
    this.#audiences.set(name, audience);
    return audience;
  }
}

/**
 * The subscribers of one database. An event is written once and sent to all; events that came together leave together, so that
 * the more there is to send, the less each costs.
 */
class Audience implements ChangeSubscriber {
  #database: DatabaseHandle;
  readonly #options: ChangeFeedOptions;
  readonly #members = new Map<Client, Subscription[]>();
  #unsubscribe: () => void;
  readonly #whenEmpty: () => void;
  #kept: EventFrame[] = [];
  #hasLost = false;
  /** What `wants` said, until the subscriptions change: it is asked for each change of each commit. */
  readonly #wanted = new Map<string, boolean>();

  constructor(database: DatabaseHandle, options: ChangeFeedOptions, whenEmpty: () => void) {
    this.#database = database;
    this.#options = options;
    this.#whenEmpty = whenEmpty;
    this.#unsubscribe = database.changes.subscribe(this);
  }

  /** The database was closed, and is open again. */
  attend(database: DatabaseHandle): void {
    if (database === this.#database) return;
    this.#unsubscribe();
    this.#database = database;
    this.#unsubscribe = database.changes.subscribe(this);
  }

  wants(kind: ChangeKind, typeName: string): boolean {
    const key = `${kind} ${typeName}`;
    const known = this.#wanted.get(key);
    if (known !== undefined) return known;
    let isWanted = false;
    for (const subscriptions of this.#members.values())
      isWanted ||= wants(subscriptions, kind, typeName);
    this.#wanted.set(key, isWanted);
    return isWanted;
  }

  add(client: Client, subscription: Subscription): void {
    this.#wanted.clear();
    const own = this.#members.get(client);
    if (own === undefined) {
      this.#members.set(client, [subscription]);
      return;
    }
    if (own.length >= subscriptionsMax) {
      throw messageError(
        `the connection has ${own.length} subscriptions to database '${this.#database.name}' already`,
      );
    }
    own.push(subscription);
  }

  remove(client: Client, type: string | undefined): void {
    const own = this.#members.get(client);
    if (own === undefined) return;
    this.#wanted.clear();
    const left = type === undefined ? [] : own.filter((one) => one.type !== type);
    if (left.length > 0) {
      this.#members.set(client, left);
      return;
    }
    this.#members.delete(client);
    if (this.#members.size > 0) return;
    this.#unsubscribe();
    this.#whenEmpty();
  }

  changed(change: RecordChange): void {
    const { kind } = change;
    const { typeName } = change.record;
    if (this.wants(kind, typeName))
      this.#kept.push({ kind, typeName, frame: this.#encode(change), lostCount: 0 });
  }

  lost({ kind, typeName, count }: LostChanges): void {
    this.#kept.push({ kind, typeName, frame: noFrame, lostCount: count });
    this.#hasLost = true;
  }

  async pass(): Promise<void> {
    const events = this.#kept;
    if (events.length === 0) return;
    this.#kept = [];
    const hasLost = this.#hasLost;
    this.#hasLost = false;
    const together =
      events.length === 1 ? (events[0] as EventFrame).frame : Buffer.concat(framesOf(events));
    const slices = new SliceTimer(this.#options.runtime);
    // Who comes meanwhile asked after the commits of these.
    for (const client of [...this.#members.keys()]) {
      if (slices.isSpent) await slices.pause();
      const subscriptions = this.#members.get(client);
      if (subscriptions === undefined || !this.#mayGet(client)) continue;
      const wanted = this.#wantedOf(client, subscriptions, events);
      if (hasLost) client.sendFrames(this.#withLosses(wanted));
      else if (wanted.length === events.length) client.sendFrames([together]);
      else if (wanted.length > 0) client.sendFrames(framesOf(wanted));
    }
  }

  /** Losses that follow each other are told as one: `{"changeType":"lost","database":...,"count":n}` (house decision 83). */
  #withLosses(events: readonly EventFrame[]): Buffer[] {
    const frames: Buffer[] = [];
    const database = this.#database.name;
    let count = 0;
    const tell = () => {
      if (count > 0)
        frames.push(
          textFrame(Buffer.from(JSON.stringify({ changeType: 'lost', database, count }))),
        );
      count = 0;
    };
    for (const { frame, lostCount } of events) {
      if (lostCount > 0) count += lostCount;
      else {
        tell();
        frames.push(frame);
      }
    }
    tell();
    return frames;
  }

  /** Who has subscribed to a closed database waits until it is open again, or dropped. */
  ended(): void {
    this.#kept = [];
    this.#hasLost = false;
  }

  #wantedOf(
    client: Client,
    subscriptions: readonly Subscription[],
    events: readonly EventFrame[],
  ): readonly EventFrame[] {
    const { authorizer } = this.#options;
    const { name } = this.#database;
    return events.filter(
      ({ kind, typeName }) =>
        wants(subscriptions, kind, typeName) &&
        authorizer.canRead(client.principal, name, typeName),
    );
  }

  /** Asked anew at each event: rights may have been taken away (contract, Events). */
  #mayGet(client: Client): boolean {
    if (!this.#options.isStillKnown(client)) return false;
    if (this.#options.authorizer.canReadSome(client.principal, this.#database.name)) return true;
    client.close(closeCode.policy, 'access revoked');
    return false;
  }

  #encode({ kind, record }: RecordChange): Buffer {
    const writer = new JsonWriter(this.#database.formats(), 512, this.#options.names);
    const { name } = this.#database;
    writer.raw(Buffer.from(`{"changeType":"${kind}","database":${JSON.stringify(name)},"record":`));
    writer.record(record);
    writer.ascii('}');
    return textFrame(writer.take(0));
  }
}

function framesOf(events: readonly EventFrame[]): Buffer[] {
  return events.map(({ frame }) => frame);
}

function wants(
  subscriptions: readonly Subscription[],
  kind: ChangeKind,
  typeName: string,
): boolean {
  for (const { type, kinds } of subscriptions) {
    if (kinds.has(kind) && (type === undefined || type === typeName)) return true;
  }
  return false;
}

function changeKinds(frame: ValueMap): ReadonlySet<ChangeKind> {
  const value = frame.get('changeTypes') ?? undefined;
  if (value === undefined) return allKinds;
  if (!isList(value) || !value.every((item) => typeof item === 'string')) {
    throw messageError("Property 'changeTypes' must be an array of strings");
  }
  const kinds = new Set<ChangeKind>();
  for (const text of value as readonly string[]) {
    const kind = text.toLowerCase() as ChangeKind;
    if (!allKinds.has(kind)) {
      throw messageError(
        `Property 'changeTypes': '${text.slice(0, 100)}' is none of create, update, delete`,
      );
    }
    kinds.add(kind);
  }
  return kinds.size === 0 ? allKinds : kinds;
}

/** Of a database that the user may not read, whether it exists or not. */
export function mayNotRead(user: string, database: string): FrameError {
  return new FrameError(
    'Security error',
    `User '${user}' has not access to database '${database.slice(0, 200)}'`,
    'SecurityException',
  );
}
