import { type Attack, databaseViolations, type Scenario } from './scenario.ts';

// sqlscript transactions with retry, server-side sessions, and statements that wait in the queue: each adds to a counter and
// leaves a record of it, so the counter must equal the number of records.

const database = 'scripts';
const counterCount = 3;

export class Scripts implements Scenario {
  readonly name = 'scripts and sessions';
  readonly #done = new Set<string>();
  readonly #open = new Set<string>();
  readonly #refused = new Set<string>();
  #next = 0;

  async prepare(attack: Attack): Promise<void> {
    await attack.create(
      database,
      'CREATE DOCUMENT TYPE Counter',
      'CREATE DOCUMENT TYPE Mark',
      'CREATE PROPERTY Mark.tag STRING',
      'CREATE INDEX ON Mark (tag) UNIQUE',
    );
    for (let id = 0; id < counterCount; id += 1)
      await attack.rows(database, 'INSERT INTO Counter SET id = :id, n = 0', { id });
  }

  async load(attack: Attack): Promise<void> {
    const clients = Array.from({ length: 4 }, async (_, client) => {
      while (!attack.isOver) {
        const tag = `t${this.#next++}`;
        const kind = (client + this.#next) % 3;
        if (kind === 0) await this.#script(attack, tag);
        else if (kind === 1) await this.#session(attack, tag);
        else await this.#idempotent(attack, tag);
      }
    });
    await Promise.all(clients);
  }

  #settle(tag: string, kind: 'done' | 'refused' | 'open'): void {
    if (kind === 'done') this.#done.add(tag);
    else if (kind === 'refused') this.#refused.add(tag);
    else this.#open.add(tag);
  }

  async #script(attack: Attack, tag: string): Promise<void> {
    const command = `BEGIN;
      UPDATE Counter SET n = n + 1 WHERE id = :id;
      INSERT INTO Mark SET tag = :tag, id = :id;
      COMMIT RETRY 20;`;
    const params = { tag, id: attack.below(counterCount) };
    const body = { language: 'sqlscript', command, params };
    const sent = await attack.send('POST', `/command/${database}`, body);
    this.#settle(tag, sent.kind);
  }

  /** With a request id, sent again under the same id when the answer was lost is out of reach here; the id is only carried. */
  async #idempotent(attack: Attack, tag: string): Promise<void> {
    const command = `UPDATE Counter SET n = n + 1 WHERE id = :id; INSERT INTO Mark SET tag = :tag, id = :id;`;
    const params = { tag, id: attack.below(counterCount) };
    const body = { language: 'sqlscript', command, params };
    const headers = { 'x-request-id': tag };
    const sent = await attack.send('POST', `/command/${database}`, body, headers);
    this.#settle(tag, sent.kind);
  }

  async #session(attack: Attack, tag: string): Promise<void> {
    const isolationLevel = attack.random() < 0.5 ? 'READ_COMMITTED' : 'REPEATABLE_READ';
    const begun = await attack.send('POST', `/begin/${database}`, { isolationLevel });
    if (begun.kind !== 'done') return;
    const headers = { 'service-session-id': begun.answer.headers.get('service-session-id') ?? '' };
    const id = attack.below(counterCount);
    const statements = [
      'UPDATE Counter SET n = n + 1 WHERE id = :id',
      'INSERT INTO Mark SET tag = :tag, id = :id',
    ];
    for (const command of statements) {
      const body = { language: 'sql', command, params: { tag, id } };
      const sent = await attack.send('POST', `/command/${database}`, body, headers);
      // Nothing is committed before the commit, whatever became of the answer.
      if (sent.kind !== 'done') return this.#settle(tag, 'refused');
    }
    if (attack.random() < 0.15) {
      await attack.send('POST', `/rollback/${database}`, undefined, headers);
      return this.#settle(tag, 'refused');
    }
    const commit = await attack.send('POST', `/commit/${database}`, undefined, headers);
    this.#settle(tag, commit.kind);
  }

  async verify(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const marks = await attack.rows(database, 'SELECT tag, id FROM Mark');
    const found = new Set(marks.map((row) => String(row['tag'])));
    if (found.size !== marks.length) violations.push('a script was executed twice');
    for (const tag of this.#done) if (!found.has(tag)) violations.push(`script ${tag} is lost`);
    for (const tag of this.#refused)
      if (found.has(tag)) violations.push(`script ${tag} was refused and is there`);
    const counters = await attack.rows(database, 'SELECT id, n FROM Counter');
    for (const counter of counters) {
      const expected = marks.filter((row) => row['id'] === counter['id']).length;
      if (counter['n'] !== expected)
        violations.push(`counter ${counter['id']} is ${counter['n']} with ${expected} marks`);
    }
    this.#done.clear();
    for (const tag of found) this.#done.add(tag);
    this.#open.clear();
    this.#refused.clear();
    violations.push(...(await databaseViolations(attack, database)));
    return violations;
  }
}
