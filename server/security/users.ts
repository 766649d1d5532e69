import { hash } from 'node:crypto';
import { copyFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Random, Timers } from '#core/runtime.ts';
import type { KeyDerivation } from '#platform/key-derivation.ts';
import type { Audit } from './audit.ts';
import {
  requireAccessNames,
  requirePassword,
  requireUserName,
  rootName,
} from './credential-policy.ts';
import type { PasswordRecord } from './password-record.ts';
import { formatPasswordRecord, makePasswordRecord, verifyPassword } from './password-record.ts';
import type { PublishSecurity, SecurityOperation } from './security-operation.ts';
import type { StoredUser } from './user-file.ts';
import { formatUsers, parseUsers } from './user-file.ts';
import { WatchedFile } from './watched-file.ts';

/** A user as the server knows it now. */
export interface User extends StoredUser {
  /** Another one after every new password; what was proved with an older one no longer counts. */
  readonly generation: number;
}

export interface UsersOptions {
  readonly configDirectory: string;
  readonly derivation: KeyDerivation;
  readonly random: Random;
  readonly timers: Timers;
  readonly audit: Audit;
  /** Read at each use. */
  readonly iterations: () => number;
  /** `service.maxNameLength`, read at each use; absent: 256 (limits.md 22). */
  readonly nameLengthMax?: () => number;
}

/** What a change may replace. */
export interface UserChange {
  readonly password?: string;
  readonly databases?: ReadonlyMap<string, readonly string[]>;
}

/**
 * The users of the server, kept in `server-users.jsonl`. A change is in the file before it is in force. Edits of the file
 * by hand are taken over; a file without root or without any readable line is not (security.md 8.5).
 */
export class Users {
  readonly #options: UsersOptions;
  readonly #file: WatchedFile;
  readonly #revoked: ((name: string) => void)[] = [];
  readonly #changed: (() => void)[] = [];
  #users: ReadonlyMap<string, User> = new Map();
  #lastGeneration = 0;
  #changes: Promise<unknown> = Promise.resolve();
  #publish: PublishSecurity | undefined;

  constructor(options: UsersOptions) {
    this.#options = options;
    this.#file = new WatchedFile({
      path: join(options.configDirectory, 'server-users.jsonl'),
      timers: options.timers,
      changed: (text) => this.#reload(text),
      unreadable: (reason) => options.audit.report('CRITICAL', reason),
    });
  }

  /** Reads the file. One in which no line is readable is renamed aside, one with unreadable lines copied: the next change drops them. */
  async load(): Promise<void> {
    const text = await this.#file.read();
    if (text === undefined) return;
    const { users, brokenLines } = parseUsers(text);
    this.#reportBroken(brokenLines);
    this.#users = new Map(users.map((user) => [user.name, this.#withGeneration(user)]));
    if (users.length === 0 && brokenLines.length === 0) {
      const { path } = this.#file;
      this.#options.audit.report('CRITICAL', `${path} is empty: its users are lost`);
    }
    if (brokenLines.length === 0) return;
    const aside = this.#file.path.replace(/\.jsonl$/, '-error.jsonl');
    if (users.length === 0) await rename(this.#file.path, aside);
    else await copyFile(this.#file.path, aside);
  }

  watch(everyMs: number): void {
    this.#file.watch(everyMs);
  }

  /** Takes over an edit of the file at once instead of at the next look. */
  async poll(): Promise<void> {
    await this.#file.poll();
  }

  close(): void {
    this.#file.close();
  }

  get(name: string): User | undefined {
    return this.#users.get(name);
  }

  /** Equal on two servers that have the same password for the user; tells nothing of it. */
  credentialOf(name: string): string | undefined {
    const user = this.#users.get(name);
    return user && hash('sha256', `${name}\n${formatPasswordRecord(user.password)}`);
  }

  /** In the order of the file. */
  list(): readonly User[] {
    return [...this.#users.values()];
  }

  /** In a cluster: changes go through its log and come back by `take`, here and on every other server. */
  publishBy(publish: PublishSecurity): void {
    this.#publish = publish;
  }

  /** All users, by name: for the first entry of a cluster, and to compare what two servers know. */
  get text(): string {
    return formatUsers(byName(this.#users).values());
  }

  /**
   * A change that the cluster has decided. The file may be ahead of it after a restart, so its order comes from the names and not
   * from which changes were taken, and how often.
   */
  async take(operation: Exclude<SecurityOperation, { op: 'groups' }>): Promise<void> {
    const before = this.#users;
    let next = new Map(before);
    if (operation.op === 'drop-user') next.delete(operation.name);
    else {
      const { users } = parseUsers(operation.op === 'users' ? operation.text : operation.line);
      if (operation.op === 'users') next = new Map();
      for (const user of users) next.set(user.name, this.#takeOver(user));
    }
    next = byName(next);
    await this.#store(next);
    for (const [name, user] of before)
      if (next.get(name)?.generation !== user.generation) this.#revoke(name);
  }

  /** Calls `listener` with the name of a user who was dropped or has another password. */
  onRevoked(listener: (name: string) => void): void {
    this.#revoked.push(listener);
  }

  /** Calls `listener` after any change. */
  onChanged(listener: () => void): void {
    this.#changed.push(listener);
  }

  get #nameLengthMax(): number {
    return this.#options.nameLengthMax?.() ?? 256;
  }

  /** @throws DatabaseError `IllegalArgument` for a name that is taken or refused, a wrong password */
  create(
    name: string,
    given: { password: string; databases: ReadonlyMap<string, readonly string[]> },
  ): Promise<void> {
    requireUserName(name, this.#nameLengthMax);
    requirePassword(given.password);
    requireAccessNames(given.databases, this.#nameLengthMax);
    return this.#change(async () => {
      this.#requireAbsent(name);
      const password = await this.#hash(given.password);
      await this.#put({ name, password, databases: given.databases });
    });
  }

  /** @throws DatabaseError `RecordNotFound` for an unknown name, `IllegalArgument` for a wrong password */
  update(name: string, change: UserChange): Promise<void> {
    if (change.password !== undefined) requirePassword(change.password);
    if (change.databases !== undefined) requireAccessNames(change.databases, this.#nameLengthMax);
    return this.#change(async () => {
      const user = this.#require(name);
      const databases = change.databases ?? user.databases;
      if (change.password === undefined) {
        await this.#replace({ ...user, databases });
        return;
      }
      const password = await this.#hash(change.password);
      await this.#put({ name, password, databases });
      if (this.#publish === undefined) this.#revoke(name);
    });
  }

  /** Cost: one derivation. For configuration only: logins go through `Authenticator`, which counts failures. */
  async hasPassword(name: string, password: string): Promise<boolean> {
    const user = this.#users.get(name);
    if (!user) return false;
    return await verifyPassword(password, user.password, this.#options.derivation);
  }

  /** Keeps a password that was just proved in our own form (security.md 2.1); what was proved stays proved. */
  async rewritePassword(name: string, password: string): Promise<void> {
    // In a cluster the user would have a new password for every server, for no gain but its form.
    if (this.#publish !== undefined) return;
    return this.#change(async () => {
      const user = this.#require(name);
      await this.#replace({ ...user, password: await this.#hash(password) });
    });
  }

  /** @throws DatabaseError `RecordNotFound`, `IllegalArgument` for root */
  drop(name: string): Promise<void> {
    if (name === rootName)
      throw new DatabaseError('IllegalArgument', `User '${rootName}' cannot be dropped`);
    return this.#change(async () => {
      this.#require(name);
      if (this.#publish !== undefined) return this.#publish([{ op: 'drop-user', name }]);
      const rest = new Map(this.#users);
      rest.delete(name);
      await this.#store(rest);
      this.#revoke(name);
    });
  }

  #hash(password: string): Promise<PasswordRecord> {
    const { derivation, random, iterations } = this.#options;
    return makePasswordRecord(password, { derivation, random, iterations: iterations() });
  }

  #requireAbsent(name: string): void {
    if (this.#users.has(name))
      throw new DatabaseError('IllegalArgument', `User '${name}' already exists`);
  }

  #require(name: string): User {
    const user = this.#users.get(name);
    if (user) return user;
    throw new DatabaseError('RecordNotFound', `User '${name}' not found on server`);
  }

  async #put(user: StoredUser): Promise<void> {
    await this.#replace(this.#withGeneration(user));
  }

  async #replace(user: User): Promise<void> {
    if (this.#publish !== undefined)
      return this.#publish([{ op: 'put-user', line: formatUsers([user]) }]);
    await this.#store(new Map(this.#users).set(user.name, user));
  }

  async #store(users: ReadonlyMap<string, User>): Promise<void> {
    await this.#file.write(formatUsers(users.values()));
    this.#users = users;
    for (const listener of this.#changed) listener();
  }

  /** One change after the other, so that none is lost between reading and writing. */
  #change(run: () => Promise<void>): Promise<void> {
    const done = this.#changes.then(run);
    this.#changes = done.catch(() => {});
    return done;
  }

  #withGeneration(user: StoredUser): User {
    this.#lastGeneration += 1;
    return { ...user, generation: this.#lastGeneration };
  }

  #revoke(name: string): void {
    for (const listener of this.#revoked) listener(name);
  }

  #reload(text: string): void {
    const { users, brokenLines } = parseUsers(text);
    this.#reportBroken(brokenLines);
    if (!users.some((user) => user.name === rootName)) {
      this.#options.audit.report(
        'CRITICAL',
        `${this.#file.path} was changed and holds no root; the users stay as they were`,
      );
      return;
    }
    if (this.#publish !== undefined) {
      this.#publishEdit(users);
      return;
    }
    const before = this.#users;
    this.#users = new Map(users.map((user) => [user.name, this.#takeOver(user)]));
    this.#options.audit.report('WARNING', `${this.#file.path} was changed on disk and taken over`);
    for (const [name, user] of before)
      if (this.#users.get(name)?.generation !== user.generation) this.#revoke(name);
    for (const listener of this.#changed) listener();
  }

  /** An edit of the file becomes a difference that the cluster decides (ha.md 5.12); refused, the users stay as they were. */
  #publishEdit(users: readonly StoredUser[]): void {
    const now = new Map(users.map((user) => [user.name, formatUsers([user])]));
    const operations: SecurityOperation[] = [];
    for (const [name, user] of this.#users) {
      const line = now.get(name);
      if (line === undefined) operations.push({ op: 'drop-user', name });
      else if (line !== formatUsers([user])) operations.push({ op: 'put-user', line });
      now.delete(name);
    }
    for (const line of now.values()) operations.push({ op: 'put-user', line });
    if (operations.length === 0) return;
    this.#publish?.(operations).then(
      () =>
        this.#options.audit.report(
          'WARNING',
          `${this.#file.path} was changed on disk and taken over`,
        ),
      (error: unknown) =>
        this.#options.audit.report(
          'WARNING',
          `${this.#file.path} was changed on disk and is not taken over: ${error instanceof Error ? error.message : String(error)}; change it on the leader`,
        ),
    );
  }

  #takeOver(user: StoredUser): User {
    const known = this.#users.get(user.name);
    const isSamePassword =
      known && formatUsers([known]) === formatUsers([{ ...known, password: user.password }]);
    return isSamePassword ? { ...user, generation: known.generation } : this.#withGeneration(user);
  }

  #reportBroken(lines: readonly number[]): void {
    if (lines.length === 0) return;
    const where = lines.slice(0, 10).join(', ');
    this.#options.audit.report('CRITICAL', `${this.#file.path}: no user in line ${where}; skipped`);
  }
}

function byName(users: ReadonlyMap<string, User>): Map<string, User> {
  return new Map([...users].sort(([one], [other]) => (one < other ? -1 : 1)));
}
