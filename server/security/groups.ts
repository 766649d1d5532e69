import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Timers } from '#core/runtime.ts';
import { type Warning, warningsMax } from '#core/warnings.ts';
import type { Audit } from './audit.ts';
import { requireName } from './credential-policy.ts';
import type { Group, GroupDocument } from './group-document.ts';
import { defaultGroups, groupDocumentToJson, parseGroupDocument } from './group-document.ts';
import type { PublishSecurity } from './security-operation.ts';
import { WatchedFile } from './watched-file.ts';

/** The access levels of the server, kept in `server-groups.json`. A change is in the file before it is in force. */
export class Groups {
  readonly #file: WatchedFile;
  readonly #audit: Audit;
  readonly #changed: (() => void)[] = [];
  #document: GroupDocument = defaultGroups;
  #changes: Promise<unknown> = Promise.resolve();
  #publish: PublishSecurity | undefined;

  readonly #nameLengthMax: () => number;

  constructor(options: {
    configDirectory: string;
    timers: Timers;
    audit: Audit;
    /** `service.maxNameLength` */
    nameLengthMax?: () => number;
  }) {
    this.#audit = options.audit;
    this.#nameLengthMax = options.nameLengthMax ?? (() => 256);
    this.#file = new WatchedFile({
      path: join(options.configDirectory, 'server-groups.json'),
      timers: options.timers,
      changed: (text) => this.#reload(text),
      unreadable: (reason) => this.#audit.report('CRITICAL', reason),
    });
  }

  /** Reads the file, or makes it; a broken one is renamed aside (http-api.md 16.2). */
  async load(): Promise<void> {
    const text = await this.#file.read();
    try {
      if (text !== undefined) this.#document = parseGroupDocument(text);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      await rename(this.#file.path, this.#file.path.replace(/\.json$/, '-error.json'));
      this.#audit.report(
        'CRITICAL',
        `${this.#file.path} is broken, using defaults: ${error.message}`,
      );
      return this.#save(defaultGroups);
    }
    if (text === undefined) await this.#save(defaultGroups);
  }

  watch(everyMs: number): void {
    this.#file.watch(everyMs);
  }

  close(): void {
    this.#file.close();
  }

  onChanged(listener: () => void): void {
    this.#changed.push(listener);
  }

  /** In a cluster: changes go through its log and come back by `take`, here and on every other server. */
  publishBy(publish: PublishSecurity): void {
    this.#publish = publish;
  }

  /** The document, as the file has it. */
  get text(): string {
    return formatGroups(this.#document);
  }

  /** A change that the cluster has decided. */
  async take(text: string): Promise<void> {
    await this.#store(parseGroupDocument(text));
  }

  get document(): GroupDocument {
    return this.#document;
  }

  /** The group that a name stands for in a database: its own one, else that of all databases, else `*`. */
  resolve(database: string, name: string): Group | undefined {
    const all = this.#document.get('*');
    return this.#document.get(database)?.get(name) ?? all?.get(name) ?? all?.get('*');
  }

  /** Of the access levels that a user is given: those that exist in no group, each a slip of the pen in most cases. */
  unknownIn(grants: ReadonlyMap<string, readonly string[]>): readonly Warning[] {
    const found: Warning[] = [];
    for (const [database, names] of grants)
      for (const name of names) {
        const own = this.#document.get(database);
        const all = this.#document.get('*');
        if (own?.has(name) || all?.has(name) || found.length >= warningsMax) continue;
        const known = new Set([...(own?.keys() ?? []), ...(all?.keys() ?? [])]);
        const listed = [...known].slice(0, 20).join(', ');
        const message = `there is no group '${name}' for database '${database}', so '*' stands for it; known are ${listed}`;
        found.push({ code: 'UnknownGroup', message });
      }
    return found;
  }

  /** Creates or replaces a group. @throws DatabaseError `IllegalArgument` for a name that is refused */
  put(database: string, name: string, group: Group): Promise<void> {
    const nameLengthMax = this.#nameLengthMax();
    requireName('Database name', database, nameLengthMax);
    requireName('Group name', name, nameLengthMax);
    for (const type of group.types.keys()) requireName('Type name', type, nameLengthMax);
    return this.#change(async () => {
      const groups = new Map(this.#document.get(database)).set(name, group);
      await this.#save(new Map(this.#document).set(database, groups));
    });
  }

  /** @throws DatabaseError `RecordNotFound`; `IllegalArgument` for the two groups that must stay */
  delete(database: string, name: string): Promise<void> {
    if (database === '*' && (name === 'admin' || name === '*'))
      throw new DatabaseError(
        'IllegalArgument',
        `Group '${name}' of database '*' cannot be deleted`,
      );
    return this.#change(async () => {
      const groups = new Map(this.#document.get(database));
      if (!groups.delete(name))
        throw new DatabaseError(
          'RecordNotFound',
          `Group '${name}' not found in database '${database}'`,
        );
      const document = new Map(this.#document).set(database, groups);
      if (groups.size === 0) document.delete(database);
      await this.#save(document);
    });
  }

  async #save(document: GroupDocument): Promise<void> {
    if (this.#publish !== undefined)
      return this.#publish([{ op: 'groups', text: formatGroups(document) }]);
    await this.#store(document);
  }

  async #store(document: GroupDocument): Promise<void> {
    await this.#file.write(formatGroups(document));
    this.#use(document);
  }

  #use(document: GroupDocument): void {
    this.#document = document;
    for (const listener of this.#changed) listener();
  }

  #change(run: () => Promise<void>): Promise<void> {
    const done = this.#changes.then(run);
    this.#changes = done.catch(() => {});
    return done;
  }

  #reload(text: string): void {
    try {
      if (this.#publish !== undefined) {
        this.#publishEdit(formatGroups(parseGroupDocument(text)));
        return;
      }
      this.#use(parseGroupDocument(text));
      this.#audit.report('WARNING', `${this.#file.path} was changed on disk and taken over`);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      this.#audit.report('CRITICAL', `${this.#file.path} stays as it was: ${error.message}`);
    }
  }

  #publishEdit(text: string): void {
    if (text === this.text) return;
    this.#publish?.([{ op: 'groups', text }]).catch((error: unknown) =>
      this.#audit.report(
        'WARNING',
        `${this.#file.path} was changed on disk and is not taken over: ${error instanceof Error ? error.message : String(error)}; change it on the leader`,
      ),
    );
  }
}

function formatGroups(document: GroupDocument): string {
  return `${JSON.stringify(groupDocumentToJson(document), null, 2)}\n`;
}
