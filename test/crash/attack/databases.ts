import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readdirSync } from 'node:fs';
import type { Attack, Scenario } from './scenario.ts';

// Databases that are created, dropped, imported, restored, closed, opened and set while the server stops: each is there as a
// whole or not at all.

const importedRows = 4000;
type State = 'empty' | 'imported' | 'restored' | 'absent';

export class DatabaseLife implements Scenario {
  readonly name = 'databases';
  readonly #states = new Map<string, State>();
  readonly #open = new Map<string, State>();
  readonly #settings = new Map<string, number>();
  readonly #openSettings = new Map<string, number>();
  #archive = '';
  #next = 0;

  async prepare(attack: Attack): Promise<void> {
    const lines = Array.from({ length: importedRows }, (_, n) => `${n},text ${n}`);
    writeFileSync(join(attack.rootPath, 'life.csv'), `n,t\n${lines.join('\n')}\n`);
    await attack.client.request('POST', '/server', {
      command: 'import database lifebase life.csv',
      settings: { documentType: 'Row' },
    });
    const sent = await attack.server('trigger backup lifebase');
    this.#archive = String((sent.answer?.body as { backupFile?: string } | undefined)?.backupFile);
    this.#states.set('lifebase', 'imported');
  }

  async load(attack: Attack): Promise<void> {
    const clients = Array.from({ length: 2 }, async (_, client) => {
      while (!attack.isOver) await this.#step(attack, `life${client}x`);
    });
    await Promise.all(clients);
  }

  async #step(attack: Attack, prefix: string): Promise<void> {
    const own = [...this.#states.keys()].filter((name) => name.startsWith(prefix));
    const choice = attack.random();
    const old = attack.pick(own);
    if (old !== undefined && (own.length > 6 || choice < 0.3))
      return this.#change(attack, old, 'absent', `drop database ${old}`);
    if (old !== undefined && choice < 0.45) {
      const value = 1 + attack.below(1000);
      this.#openSettings.set(old, value);
      const sent = await attack.server(`set database setting ${old} service.txRetries ${value}`);
      if (sent.kind === 'open') return;
      this.#openSettings.delete(old);
      if (sent.kind === 'done') this.#settings.set(old, value);
      return;
    }
    const name = `${prefix}${this.#next++}`;
    if (choice < 0.7) return this.#change(attack, name, 'empty', `create database ${name}`);
    if (choice < 0.85)
      return this.#change(attack, name, 'imported', `import database ${name} life.csv`, {
        settings: { documentType: 'Row' },
      });
    return this.#change(
      attack,
      name,
      'restored',
      `restore backup lifebase ${this.#archive} as ${name}`,
    );
  }

  async #change(
    attack: Attack,
    name: string,
    state: State,
    command: string,
    more: object = {},
  ): Promise<void> {
    this.#open.set(name, state);
    const sent = await attack.server(command, more);
    if (sent.kind === 'open') return;
    this.#open.delete(name);
    if (sent.kind === 'refused') {
      if (sent.answer.status !== 503)
        attack.remark(`${command}: ${JSON.stringify(sent.answer.body)}`);
      return;
    }
    if (state === 'absent') {
      this.#states.delete(name);
      this.#settings.delete(name);
    } else this.#states.set(name, state);
  }

  async verify(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const body = (await attack.client.server('list databases')).body as { result: string[] };
    const listed = new Set(body.result.filter((name) => name.startsWith('life')));
    for (const name of this.#states.keys())
      if (!listed.has(name) && this.#open.get(name) !== 'absent')
        violations.push(`database ${name} is lost`);
    for (const name of listed) {
      const state = this.#states.get(name) ?? this.#open.get(name);
      if (state === undefined || state === 'absent') {
        violations.push(`database ${name} should not be there`);
        continue;
      }
      violations.push(...(await this.#look(attack, name, state)));
      this.#states.set(name, state);
    }
    for (const name of this.#states.keys()) if (!listed.has(name)) this.#states.delete(name);
    const hidden = readdirSync(join(attack.rootPath, 'databases')).filter(
      (name) => name.startsWith('.') && !name.startsWith('.server.lock'),
    );
    if (hidden.length > 0) violations.push(`left behind: ${hidden.join(', ')}`);
    this.#open.clear();
    this.#openSettings.clear();
    return violations;
  }

  async #look(attack: Attack, name: string, state: State): Promise<string[]> {
    const violations: string[] = [];
    const types = await attack.rows(name, 'SELECT name, records FROM schema:types');
    const expected = state === 'empty' ? 0 : importedRows;
    const records = types.reduce((sum, type) => sum + Number(type['records']), 0);
    if (records !== expected) violations.push(`${state} database ${name} has ${records} records`);
    const [check] = await attack.rows(name, 'CHECK DATABASE');
    if (check?.['totalErrors'] !== 0) violations.push(`CHECK DATABASE of ${name} finds errors`);
    const [info] = await attack.rows(name, 'SELECT settings FROM schema:database');
    const settings = info?.['settings'] as readonly { key: string; value: string }[];
    const value = Number(settings.find((entry) => entry.key === 'service.txRetries')?.value);
    const told = this.#settings.get(name) ?? 3;
    if (value !== told && value !== this.#openSettings.get(name))
      violations.push(`a setting of ${name} is ${value} instead of ${told}`);
    this.#settings.set(name, value);
    return violations;
  }
}
