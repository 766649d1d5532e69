import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import { readTextIfExists, replaceFile } from '#platform/files.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type { Groups } from '#security/groups.ts';
import type { SecurityOperation } from '#security/security-operation.ts';
import type { Users } from '#security/users.ts';
import { type EntryKindNumber, entryKind, UnknownEntry } from '../replication/entry-codec.ts';
import type { CatalogImage } from '../snapshot/cluster-snapshots.ts';
import type { MemberDatabase, ServerEntries } from '../replication/server-entries.ts';
import { type BaselineDatabase, type BaselineStep, divergedText } from '../bootstrap/baseline.ts';
import {
  type CatalogDocument,
  droppedMax,
  emptyCatalog,
  formatCatalog,
  parseCatalog,
  requireFeatures,
} from './catalog-document.ts';
import {
  type EnteredGroup,
  type EntryOfGroup,
  type FormerState,
  formerOf,
  formerState,
  judgeEntry,
  positionOf,
} from './entered-group.ts';
import {
  type ClusterInit,
  decodeCreate,
  decodeDrop,
  decodeFeature,
  decodeImage,
  decodeInit,
  decodePublish,
  decodeSecurity,
  decodeStageAbort,
  encodeBody,
} from './entry-bodies.ts';
import { keepOldCatalog } from './old-catalogs.ts';

/** The databases of this server, as entries change them: nothing of this goes through the log again. */
export interface LocalDatabases {
  exists(name: string): boolean;
  createHere(name: string): Promise<void>;
  dropHere(name: string): Promise<void>;
  setAsideHere(name: string): Promise<string>;
  /** Its files are moved to where databases are, in place of those that have the name. */
  publishHere(name: string, from: string): Promise<void>;
  /** It is a member now: its entries stand in another log. */
  reopenHere(name: string): Promise<void>;
  /** What has the name goes; it answers as one that is being installed until it is fetched. */
  awaitHere(name: string): Promise<void>;
}

/** Files of databases that are on their way into the cluster. */
export interface StagedFiles {
  want(member: MemberDatabase): void;
  isStaged(uuid: string): boolean;
  path(uuid: string): string;
  discard(uuid: string): Promise<void>;
}

export interface ServerCatalogOptions {
  /** Where `catalog.json` lies. */
  readonly directory: string;
  readonly databases: () => LocalDatabases;
  readonly staged: () => StagedFiles;
  /** What is done with the copy here of a database that the cluster begins with, and its newest transaction. */
  readonly baselineStep: (
    database: BaselineDatabase,
    source: PeerId,
  ) => Promise<readonly [BaselineStep, number]>;
  /** This server may not serve with what it has. */
  readonly refuse: (reason: string) => void;
  readonly users: Pick<Users, 'take' | 'text'>;
  readonly groups: Pick<Groups, 'take' | 'text'>;
  readonly log: Log;
}

/**
 * The catalog of a cluster on one server (ha.md 1.1, 5.11, 5.12): which databases are members of the log, and its users and
 * groups. An entry is carried out first and then recorded with its index, so that after a crash it is carried out again; each of
 * them bears that.
 */
export class ServerCatalog implements ServerEntries, CatalogImage {
  readonly #options: ServerCatalogOptions;
  readonly #path: string;
  /** With what an entry that is being carried out has changed already. */
  #document: CatalogDocument = emptyCatalog;
  /** As it stands in the file. */
  #written: CatalogDocument = emptyCatalog;
  #writing: Promise<void> = Promise.resolve();
  readonly #byUuid = new Map<string, MemberDatabase>();
  #tellFeatures: (active: readonly string[]) => void = () => {};

  private constructor(options: ServerCatalogOptions) {
    this.#options = options;
    this.#path = join(options.directory, 'catalog.json');
  }

  /** @throws DatabaseError `CorruptedRecord` */
  static async open(options: ServerCatalogOptions): Promise<ServerCatalog> {
    const catalog = new ServerCatalog(options);
    const text = await readTextIfExists(catalog.#path);
    if (text !== undefined) catalog.#written = parseCatalog(text);
    catalog.#use(catalog.#written);
    return catalog;
  }

  /** Tells the features that are switched on, now and whenever they may be others. */
  onFeatures(tell: (active: readonly string[]) => void): void {
    this.#tellFeatures = tell;
    tell(this.#document.features);
  }

  get isInitialized(): boolean {
    return this.#document.isInitialized;
  }

  /** All of it, for a member that is too far behind the log. */
  get document(): CatalogDocument {
    return this.#document;
  }

  applied(): Index {
    return this.#document.applied;
  }

  checkpointed(): Index {
    return this.#document.checkpointed;
  }

  member(uuid: string): MemberDatabase | undefined {
    return this.#byUuid.get(uuid);
  }

  memberNamed(name: string): MemberDatabase | undefined {
    return this.#document.databases.find((member) => member.name === name);
  }

  members(): readonly MemberDatabase[] {
    return this.#document.databases;
  }

  /** On their way into the cluster. */
  staged(): readonly MemberDatabase[] {
    return this.#document.staged;
  }

  // --- the group whose entries these are

  /** Of a group that is lost, while the one entered instead has not begun. */
  get former(): FormerState | undefined {
    const { former } = this.#document;
    const { users, groups } = this.#options;
    return former && formerState(former, [users.text, groups.text]);
  }

  /** Whether a cluster that begins may begin with the copy here. */
  mayBegin(name: string): boolean {
    const { former } = this.#document;
    if (this.memberNamed(name) !== undefined) return false;
    return former === undefined || former.databases.some((member) => member.name === name);
  }

  /**
   * To be called before its first entry is applied, and when it goes on under another id.
   * @returns `other`: the catalog begins anew, and the one that was here stays beside it
   */
  async enter(group: EnteredGroup): Promise<EntryOfGroup> {
    const document = this.#document;
    const entry = judgeEntry(document, group);
    if (entry === 'taken') await this.#write(() => ({ ...this.#written, group: group.clusterId }));
    if (entry === 'other') {
      const name = await keepOldCatalog(this.#options.directory, document);
      const former = formerOf(document);
      await this.#write(() => ({ ...emptyCatalog, group: group.clusterId, former }));
      this.#tellOther(document, group.clusterId, name);
    }
    if (entry === 'taken' || entry === 'other') this.#use(this.#written);
    return entry;
  }

  #tellOther(document: CatalogDocument, clusterId: string, name: string): void {
    const before = `the catalog of group ${document.group ?? '(not recorded)'}, at index ${positionOf(document)}, is not of the log of group ${clusterId}, which this server has entered`;
    const after = `it is kept as .catalog/${name}; databases and users are those that the new group begins with, or has`;
    this.#options.log.warn(`${before}: ${after}`, {});
  }

  // --- how far it is

  /** Beside the entries: what one of them has only begun is not written. */
  async checkpoint(index: Index): Promise<void> {
    await this.#write(() => ({ ...this.#written, checkpointed: index }));
    this.#use({ ...this.#document, checkpointed: index });
  }

  // --- for members that are too far behind the log

  image(): Uint8Array {
    const { users, groups } = this.#options;
    const security: SecurityOperation[] = [
      { op: 'users', text: users.text },
      { op: 'groups', text: groups.text },
    ];
    return encodeBody({ catalog: { ...this.#document, former: undefined }, security });
  }

  membersOf(image: Uint8Array): readonly MemberDatabase[] {
    return decodeImage(image).catalog.databases;
  }

  async adopt(image: Uint8Array): Promise<void> {
    const { catalog, security } = decodeImage(image);
    const local = this.#options.databases();
    for (const { uuid, name } of this.#document.databases)
      if (catalog.dropped.includes(uuid) && local.exists(name)) await local.dropHere(name);
    // What this server made alone is nobody's to replace.
    for (const { uuid, name } of catalog.databases)
      if (this.memberNamed(name) === undefined && !this.#byUuid.has(uuid) && local.exists(name))
        await local.setAsideHere(name);
    await this.#takeSecurity(security);
    const { applied, group, former } = this.#document;
    const kept = { applied, group, former: catalog.isInitialized ? undefined : former };
    await this.#save({ ...catalog, ...kept });
    for (const member of catalog.staged) this.#options.staged().want(member);
  }

  async adopted(index: Index): Promise<void> {
    await this.#write(() => ({ ...this.#document, applied: index, checkpointed: index }));
    this.#use(this.#written);
  }

  async apply(index: Index, kind: EntryKindNumber, body: Uint8Array): Promise<void> {
    switch (kind) {
      case entryKind.databaseCreate:
        return this.#create(index, decodeCreate(body));
      case entryKind.databaseDrop:
        return this.#drop(index, decodeDrop(body));
      case entryKind.databaseStage:
        return this.#stage(index, decodeCreate(body));
      case entryKind.databasePublish:
        return this.#publish(index, decodePublish(body));
      case entryKind.databaseStageAbort:
        return this.#abortStage(index, decodeStageAbort(body));
      case entryKind.users:
        await this.#takeSecurity(decodeSecurity(body));
        return this.#record(index, {});
      case entryKind.clusterInit:
        return this.#begin(index, decodeInit(body));
      case entryKind.feature:
        return this.#switchOn(index, decodeFeature(body));
      default:
        throw new UnknownEntry(`kind ${kind}`);
    }
  }

  async #switchOn(index: Index, feature: string): Promise<void> {
    requireFeatures([feature]);
    const { features } = this.#document;
    await this.#record(index, { features: [...new Set([...features, feature])] });
    this.#options.log.info(`Feature '${feature}' is switched on`, { index });
  }

  /** Two leaders may have begun: the first one's stays. */
  async #begin(index: Index, { security, baseline }: ClusterInit): Promise<void> {
    if (this.#document.isInitialized) return this.#record(index, {});
    await this.#takeSecurity(security);
    for (const database of baseline?.databases ?? [])
      await this.#beginWith(database, baseline?.source ?? '');
    const { databases } = this.#document;
    await this.#record(index, { isInitialized: true, baseline, databases, former: undefined });
  }

  /** Nothing is recorded before the end: a start does it again, and finds what is done. */
  async #beginWith(database: BaselineDatabase, source: PeerId): Promise<void> {
    const { uuid, name, offset } = database;
    const { databases } = this.#document;
    // It has history in this log already (ha.md 8.4.6).
    if (databases.some((other) => other.name.toLowerCase() === name.toLowerCase())) return;
    const local = this.#options.databases();
    const [step, localTxId] = await this.#options.baselineStep(database, source);
    // A copy of this very database is ahead of what it began with: the log goes on from there.
    const isCopy = this.#document.former?.databases.some((member) => member.uuid === uuid);
    if (step === 'refuse' && isCopy !== true) {
      const reason = divergedText(database, localTxId);
      this.#options.refuse(reason);
      throw new DatabaseError('Internal', reason);
    }
    this.#use({ ...this.#document, databases: [...databases, { uuid, name, offset }] });
    if (step === 'keep') {
      this.#options.log.info(`Database '${name}' bootstrapped locally (fingerprint match)`, {});
      return local.reopenHere(name);
    }
    if (local.exists(name)) {
      const aside = await local.setAsideHere(name);
      this.#options.log.warn('a database is fetched from the source of the cluster', {
        database: name,
        setAside: aside,
      });
    }
    await local.awaitHere(name);
  }

  async #create(index: Index, member: MemberDatabase): Promise<void> {
    const { databases, pending, dropped } = this.#document;
    const isTaken = databases.some(({ name }) => name.toLowerCase() === member.name.toLowerCase());
    // Two were on their way at once: the second one is nothing, on every server.
    if (isTaken || dropped.includes(member.uuid)) return this.#record(index, {});
    const local = this.#options.databases();
    if (local.exists(member.name)) {
      if (pending?.uuid === member.uuid) await local.dropHere(member.name);
      else {
        // Made before the cluster was: the log must go on here, and the files are somebody's.
        const aside = await local.setAsideHere(member.name);
        this.#options.log.error(
          'a database of this server alone had the name of one of the cluster',
          {
            database: member.name,
            setAside: aside,
          },
        );
      }
    }
    await this.#save({ ...this.#document, pending: member });
    this.#use({ ...this.#document, databases: [...databases, member] });
    try {
      await local.createHere(member.name);
    } catch (error) {
      this.#use({ ...this.#document, databases });
      throw error;
    }
    await this.#record(index, { pending: undefined });
  }

  /** By uuid: one that was created again under the name is another one (ha.md 5.11). */
  async #drop(index: Index, uuid: string): Promise<void> {
    const member = this.#byUuid.get(uuid);
    const { databases, dropped } = this.#document;
    if (member !== undefined) {
      const local = this.#options.databases();
      if (local.exists(member.name)) await local.dropHere(member.name);
    }
    await this.#record(index, {
      databases: databases.filter((other) => other.uuid !== uuid),
      dropped: [...dropped, uuid].slice(-droppedMax),
    });
  }

  async #stage(index: Index, member: MemberDatabase): Promise<void> {
    const others = this.#document.staged.filter(({ uuid }) => uuid !== member.uuid);
    await this.#record(index, { staged: [...others, member] });
    // Beside what is applied next.
    this.#options.staged().want(member);
  }

  /** At this index it is there on every server; one that has no files yet fetches them from the leader (ha.md 5.11). */
  async #publish(
    index: Index,
    { uuid, replaces }: { readonly uuid: string; readonly replaces: boolean },
  ): Promise<void> {
    const { databases, staged, dropped, pending } = this.#document;
    const member = staged.find((other) => other.uuid === uuid);
    const isAgain = pending?.uuid === uuid;
    if (member === undefined) return this.#record(index, {});
    const name = member.name.toLowerCase();
    const taken = databases.find((other) => other.name.toLowerCase() === name);
    const left = staged.filter((other) => other.uuid !== uuid);
    if (taken !== undefined && !(replaces && taken.name === member.name)) {
      await this.#record(index, { staged: left });
      return this.#options.staged().discard(uuid);
    }
    const files = this.#options.staged();
    const local = this.#options.databases();
    const members = [...databases.filter((other) => other !== taken), member];
    await this.#save({ ...this.#document, pending: member });
    // Whoever opens its files must find it as a member.
    this.#use({ ...this.#document, databases: members });
    try {
      if (files.isStaged(uuid)) await local.publishHere(member.name, files.path(uuid));
      // Else the process ended behind the move: the files are in their place.
      else if (!isAgain || !local.exists(member.name)) await local.awaitHere(member.name);
    } catch (error) {
      this.#use({ ...this.#document, databases });
      throw error;
    }
    await this.#record(index, {
      databases: members,
      staged: left,
      dropped: taken === undefined ? dropped : [...dropped, taken.uuid].slice(-droppedMax),
      pending: undefined,
    });
    await files.discard(uuid);
  }

  async #abortStage(index: Index, uuid: string): Promise<void> {
    const staged = this.#document.staged.filter((other) => other.uuid !== uuid);
    const isKnown = staged.length < this.#document.staged.length;
    await this.#record(index, { staged });
    if (isKnown) await this.#options.staged().discard(uuid);
  }

  async #takeSecurity(operations: readonly SecurityOperation[]): Promise<void> {
    for (const operation of operations) {
      if (operation.op === 'groups') await this.#options.groups.take(operation.text);
      else await this.#options.users.take(operation);
    }
  }

  #record(index: Index, change: Partial<CatalogDocument>): Promise<void> {
    return this.#save({ ...this.#document, ...change, applied: index });
  }

  /** Of an entry; how far everything is durable is known to checkpoints alone. */
  async #save(document: CatalogDocument): Promise<void> {
    await this.#write(() => ({ ...document, checkpointed: this.#written.checkpointed }));
    this.#use(this.#written);
  }

  /** One after the other: entries and checkpoints do not wait for each other. */
  #write(next: () => CatalogDocument): Promise<void> {
    const written = this.#writing.then(() => this.#replace(next()));
    this.#writing = written.catch(() => {});
    return written;
  }

  async #replace(document: CatalogDocument): Promise<void> {
    await replaceFile(this.#path, formatCatalog(document));
    this.#written = document;
  }

  #use(document: CatalogDocument): void {
    const isOther = document.features !== this.#document.features;
    this.#document = document;
    if (isOther) this.#tellFeatures(document.features);
    this.#byUuid.clear();
    for (const member of document.databases) this.#byUuid.set(member.uuid, member);
  }
}
