import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { encodeBody } from '#cluster/catalog/entry-bodies.ts';
import { entryKind } from '#cluster/replication/entry-codec.ts';
import type { ClusterReplication } from '#cluster/replication/replication.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { SecurityOperation } from '#security/security-operation.ts';
import { TokenSessions } from '#security/token-sessions.ts';
import { Users } from '#security/users.ts';
import { quickDerivation } from '#test/security/fixtures.ts';
import type { DatabaseHost } from './host.ts';

const names = ['jay', 'kim', 'lou'];
const nobody = { sourceIp: null, userAgent: null, country: null, city: null };
const audit = { report: () => {} };
/** Nothing ends a token but what is done to its user. */
const limits = {
  idleMs: () => Number.MAX_SAFE_INTEGER,
  absoluteMs: () => 0,
  perUserMax: () => 0,
  countMax: () => 100_000,
};

/** Users and tokens of one process of a server. Users change by the log. */
export class HostAccounts {
  readonly users: Users;
  readonly tokens: TokenSessions;
  /** While the file of users is written, which takes time of this process. */
  taking: Promise<void> | undefined;

  private constructor(users: Users, tokens: TokenSessions) {
    this.users = users;
    this.tokens = tokens;
  }

  static async open(
    directory: string,
    serverName: string,
    runtime: Runtime,
  ): Promise<HostAccounts> {
    const configDirectory = join(directory, '.users');
    mkdirSync(configDirectory, { recursive: true });
    const { clock, random, timers } = runtime;
    const common = { configDirectory, derivation: quickDerivation, random, timers, audit };
    const users = new Users({ ...common, iterations: () => 1 });
    await users.load();
    const tokens = new TokenSessions({ serverName, users, clock, random, limits, audit });
    return new HostAccounts(users, tokens);
  }

  publishBy(replication: ClusterReplication): void {
    this.users.publishBy(async (operations) => {
      await replication.propose(entryKind.users, encodeBody(operations));
    });
  }

  take(operations: readonly SecurityOperation[]): Promise<void> {
    const taking = this.#take(operations).finally(() => {
      this.taking = undefined;
    });
    this.taking = taking;
    return taking;
  }

  async #take(operations: readonly SecurityOperation[]): Promise<void> {
    for (const operation of operations)
      if (operation.op !== 'groups') await this.users.take(operation);
  }
}

interface GivenToken {
  readonly token: string;
  readonly user: string;
  readonly host: DatabaseHost;
  /** It is gone with the process. */
  readonly process: string;
  readonly at: number;
}

interface Revocation {
  readonly user: string;
  readonly calledAt: number;
  /** Whoever has applied so much has applied it. */
  readonly index: Index;
}

export interface AccountAttempt {
  readonly op: 'create' | 'drop' | 'password' | 'login' | 'use';
  readonly key: string;
  readonly value: null;
  readonly isRead: boolean;
  run(): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/**
 * Users that come, go and get other passwords, and tokens that are used meanwhile (ha-testing.md 4.2, C11): who has applied a drop or a
 * new password that was acknowledged accepts none of the tokens of before.
 */
export class AccountWork {
  readonly problems: string[] = [];
  /** Tokens that were accepted, and those that had to be refused: without either nothing was checked. */
  readonly counts = { accepted: 0, refused: 0 };
  readonly #random: (n: number) => number;
  readonly #now: () => number;
  readonly #given: GivenToken[] = [];
  readonly #revocations: Revocation[] = [];

  constructor(random: (n: number) => number, now: () => number) {
    this.#random = random;
    this.#now = now;
  }

  attempt(host: DatabaseHost, open: readonly DatabaseHost[]): AccountAttempt {
    const user = names[this.#random(names.length)] ?? '';
    const anyone = open[this.#random(open.length)] ?? host;
    const told = { key: user, value: null };
    const kind = this.#random(10);
    if (kind < 3) return { ...told, op: 'create', isRead: false, run: () => create(host, user) };
    if (kind === 3) {
      const run = () => this.#revoke(host, user, (users) => users.drop(user));
      return { ...told, op: 'drop', isRead: false, run };
    }
    if (kind === 4) {
      const change = { password: `password-${this.#now()}` };
      const run = () => this.#revoke(host, user, (users) => users.update(user, change));
      return { ...told, op: 'password', isRead: false, run };
    }
    const isLogin = kind < 7 || this.#given.length === 0;
    const run = async () => {
      if (isLogin) this.#login(anyone, user);
      else this.#use(this.#given[this.#random(this.#given.length)] as GivenToken);
      return [];
    };
    return { ...told, op: isLogin ? 'login' : 'use', isRead: true, run };
  }

  async #revoke(host: DatabaseHost, user: string, change: (users: Users) => Promise<void>) {
    const calledAt = this.#now();
    await host.change(change);
    this.#revocations.push({ user, calledAt, index: host.bookmark });
    return [];
  }

  /** @throws DatabaseError when there is no such user */
  #login(host: DatabaseHost, user: string): void {
    const token = host.accounts.tokens.login(user, nobody);
    this.#given.push({ token, user, host, process: host.name, at: this.#now() });
  }

  #use({ token, user, host, process, at }: GivenToken): void {
    if (!host.isOpen || host.name !== process) return;
    const applied = host.bookmark;
    const revoked = this.#revocations.find(
      (one) => one.user === user && one.calledAt > at && one.index <= applied,
    );
    const isAccepted = host.accounts.tokens.find(token) !== undefined;
    if (isAccepted) this.counts.accepted += 1;
    if (revoked === undefined) return;
    this.counts.refused += 1;
    if (isAccepted)
      this.problems.push(
        `C11: ${process} has applied ${applied}, ${user} was revoked at ${revoked.index}, and a token of before is accepted`,
      );
  }
}

async function create(host: DatabaseHost, user: string) {
  const given = { password: 'first-password', databases: new Map<string, readonly string[]>() };
  await host.change((users) => users.create(user, given));
  return [];
}
