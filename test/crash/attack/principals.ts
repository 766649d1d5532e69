import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HttpClient } from '../../support/server-process.ts';
import type { Attack, Scenario } from './scenario.ts';

// Users, groups and API tokens: what was answered is in force after a start, and the files are never empty or torn.

interface Account {
  readonly password: string;
  readonly level: string;
}

export class Principals implements Scenario {
  readonly name = 'users, groups and tokens';
  readonly #users = new Map<string, Account>();
  readonly #openUsers = new Map<string, Account | undefined>();
  readonly #groups = new Map<string, number>();
  readonly #openGroups = new Map<string, number | undefined>();
  readonly #tokens = new Map<string, string>();
  readonly #openTokens = new Set<string>();
  readonly #deletedTokens = new Map<string, string>();
  #next = 0;

  async prepare(attack: Attack): Promise<void> {
    await attack.create('people');
  }

  async load(attack: Attack): Promise<void> {
    const steps = [this.#userStep, this.#groupStep, this.#tokenStep];
    await Promise.all(
      steps.map(async (step) => {
        while (!attack.isOver) await step.call(this, attack);
      }),
    );
  }

  async #userStep(attack: Attack): Promise<void> {
    const level = attack.random() < 0.5 ? 'admin' : 'reader';
    const account = { password: `password-${this.#next++}`, level };
    const old = attack.pick([...this.#users.keys()]);
    const databases = { people: [level] };
    const choice = attack.random();
    if (old === undefined || choice < 0.4) {
      const name = `user${this.#next++}`;
      this.#openUsers.set(name, account);
      const body = { name, password: account.password, databases };
      const sent =
        choice < 0.2
          ? await attack.send('POST', '/server/users', body)
          : await attack.server(`create user ${JSON.stringify(body)}`);
      return this.#settleUser(name, account, sent.kind);
    }
    if (choice < 0.7 && this.#users.size < 30) {
      this.#openUsers.set(old, account);
      const body = { password: account.password, databases };
      const sent = await attack.send('PUT', `/server/users?name=${old}`, body);
      return this.#settleUser(old, account, sent.kind);
    }
    this.#openUsers.set(old, undefined);
    const sent = await attack.server(`drop user ${old}`);
    this.#settleUser(old, undefined, sent.kind);
  }

  #settleUser(name: string, account: Account | undefined, kind: string): void {
    if (kind === 'open') return;
    this.#openUsers.delete(name);
    if (kind === 'refused') return;
    if (account === undefined) this.#users.delete(name);
    else this.#users.set(name, account);
  }

  async #groupStep(attack: Attack): Promise<void> {
    const old = attack.pick([...this.#groups.keys()]);
    const isDelete = old !== undefined && attack.random() < 0.3;
    const name = isDelete ? old : `group${attack.below(8)}`;
    const limit = isDelete ? undefined : 1 + attack.below(100_000);
    this.#openGroups.set(name, limit);
    const sent = isDelete
      ? await attack.send('DELETE', `/server/groups?database=people&name=${name}`)
      : await attack.send('POST', '/server/groups', {
          database: 'people',
          name,
          resultSetLimit: limit,
          readTimeout: -1,
          access: [],
          types: { '*': { access: ['readRecord'] } },
        });
    if (sent.kind === 'open') return;
    this.#openGroups.delete(name);
    if (sent.kind === 'refused') return;
    if (limit === undefined) this.#groups.delete(name);
    else this.#groups.set(name, limit);
  }

  async #tokenStep(attack: Attack): Promise<void> {
    const old = attack.pick([...this.#tokens.keys()]);
    if (old !== undefined && attack.random() < 0.4) {
      this.#openTokens.add(old);
      const sent = await attack.send('DELETE', `/server/api-tokens?name=${old}`);
      if (sent.kind === 'open') return;
      this.#openTokens.delete(old);
      if (sent.kind === 'refused') return;
      this.#deletedTokens.set(old, this.#tokens.get(old) ?? '');
      this.#tokens.delete(old);
      return;
    }
    const name = `token${this.#next++}`;
    this.#openTokens.add(name);
    const permissions = { types: { '*': { access: ['readRecord'] } } };
    const body = { name, database: 'people', permissions };
    const sent = await attack.send('POST', '/server/api-tokens', body);
    if (sent.kind === 'open') return;
    this.#openTokens.delete(name);
    if (sent.kind === 'done')
      this.#tokens.set(name, (sent.answer.body as { result: { token: string } }).result.token);
  }

  async verify(attack: Attack): Promise<string[]> {
    return [
      ...filesViolations(attack),
      ...(await this.#verifyUsers(attack)),
      ...(await this.#verifyGroups(attack)),
      ...(await this.#verifyTokens(attack)),
    ];
  }

  async #verifyUsers(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const body = (await attack.client.request('GET', '/server/users')).body as {
      result: { name: string }[];
    };
    const listed = new Set(body.result.map((user) => user.name));
    for (const name of listed)
      if (name !== 'root' && !this.#users.has(name) && !this.#openUsers.has(name))
        violations.push(`user ${name} should be gone`);
    const names = new Set([...this.#users.keys(), ...this.#openUsers.keys()]);
    for (const name of names) {
      const account = this.#users.get(name);
      const open = this.#openUsers.get(name);
      if (!listed.has(name)) {
        if (account !== undefined && !this.#openUsers.has(name))
          violations.push(`user ${name} is lost`);
        this.#users.delete(name);
        continue;
      }
      // A key derivation each: some of those that were settled, all that were open.
      if (!this.#openUsers.has(name) && attack.random() > 0.3) continue;
      const right = await firstThatLogsIn(attack, name, [account, open]);
      if (right === undefined) violations.push(`user ${name} cannot log in`);
      else this.#users.set(name, right);
    }
    this.#openUsers.clear();
    return violations;
  }

  async #verifyGroups(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const body = (await attack.client.request('GET', '/server/groups')).body as {
      result: {
        databases: Record<string, { groups: Record<string, { resultSetLimit: number }> }>;
      };
    };
    const found = body.result.databases['people']?.groups ?? {};
    if (body.result.databases['*']?.groups['admin'] === undefined)
      violations.push('the group admin is gone');
    for (const name of new Set([...this.#groups.keys(), ...Object.keys(found)])) {
      const limit = found[name]?.resultSetLimit;
      const isOpen = this.#openGroups.has(name) && this.#openGroups.get(name) === limit;
      if (limit !== this.#groups.get(name) && !isOpen)
        violations.push(`group ${name} has the limit ${limit}, not ${this.#groups.get(name)}`);
      if (limit === undefined) this.#groups.delete(name);
      else this.#groups.set(name, limit);
    }
    this.#openGroups.clear();
    return violations;
  }

  async #verifyTokens(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const url = `http://127.0.0.1:${attack.port}/api/v1/databases`;
    const statusOf = async (token: string) =>
      (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status;
    for (const [name, token] of this.#tokens) {
      const status = await statusOf(token);
      if (status !== 200 && !this.#openTokens.has(name))
        violations.push(`token ${name}: ${status}`);
      if (status !== 200) this.#tokens.delete(name);
    }
    for (const [name, token] of this.#deletedTokens)
      if ((await statusOf(token)) !== 401) violations.push(`the deleted token ${name} is in force`);
    this.#openTokens.clear();
    return violations;
  }
}

async function firstThatLogsIn(
  attack: Attack,
  name: string,
  accounts: readonly (Account | undefined)[],
): Promise<Account | undefined> {
  for (const account of accounts) {
    if (account === undefined) continue;
    const client = new HttpClient(attack.port, name, account.password);
    if ((await client.request('POST', '/login')).status === 200) return account;
  }
  return undefined;
}

function filesViolations(attack: Attack): string[] {
  const violations: string[] = [];
  const directory = join(attack.rootPath, 'config');
  for (const name of readdirSync(directory)) {
    // What a stop left of a replacement is written anew by the next one.
    if (name.endsWith('.tmp')) continue;
    const text = readFileSync(join(directory, name), 'utf8');
    if (text.trim() === '') violations.push(`${name} is empty`);
    if (name.endsWith('-error.json')) violations.push(`${name} was set aside`);
    try {
      if (name.endsWith('.json')) JSON.parse(text);
      if (name.endsWith('.jsonl'))
        for (const line of text.split('\n')) if (line.trim() !== '') JSON.parse(line);
    } catch {
      violations.push(`${name} is torn`);
    }
  }
  return violations;
}
