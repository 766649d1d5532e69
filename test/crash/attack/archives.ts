import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Attack, databaseViolations, type Scenario } from './scenario.ts';

// Backups under heavy updates: no half archive is listed, each listed one restores, and a restored one is one moment of the
// database.

const database = 'archived';
const pairCount = 2000;

export class Archives implements Scenario {
  readonly name = 'backups';
  readonly #acknowledged = new Set<string>();
  readonly #deleted = new Set<string>();
  readonly #openDeletes = new Set<string>();

  async prepare(attack: Attack): Promise<void> {
    await attack.create(database, 'CREATE DOCUMENT TYPE Pair');
    const rows = Array.from({ length: pairCount }, (_, id) => ({ id, a: 0, b: 0 }));
    await attack.rows(database, 'INSERT INTO Pair CONTENT :rows', { rows });
    await attack.rows(database, 'CREATE PROPERTY Pair.id INTEGER');
    await attack.rows(database, 'CREATE INDEX ON Pair (id) UNIQUE');
  }

  async load(attack: Attack): Promise<void> {
    await Promise.all([this.#write(attack), this.#write(attack), this.#backUp(attack)]);
  }

  async #write(attack: Attack): Promise<void> {
    while (!attack.isOver) {
      const low = attack.below(pairCount);
      const statement =
        'UPDATE Pair SET a = a + 1, b = b - 1, pad = :pad WHERE id >= :low AND id < :high';
      const params = { low, high: low + 50, pad: 'x'.repeat(attack.below(400)) };
      await attack.sql(database, statement, params);
    }
  }

  async #backUp(attack: Attack): Promise<void> {
    while (!attack.isOver) {
      const old = attack.pick([...this.#acknowledged]);
      if (old !== undefined && this.#acknowledged.size > 4) {
        this.#openDeletes.add(old);
        const sent = await attack.server(`delete backup ${database} ${old}`);
        if (sent.kind !== 'done') continue;
        this.#openDeletes.delete(old);
        this.#acknowledged.delete(old);
        this.#deleted.add(old);
        continue;
      }
      const sent = await attack.server(`trigger backup ${database}`);
      if (sent.kind !== 'done') continue;
      this.#acknowledged.add((sent.answer.body as { backupFile: string }).backupFile);
    }
  }

  async verify(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const list = (await attack.client.server(`list backups ${database}`)).body as {
      backups: { fileName: string }[];
    };
    const listed = new Set(list.backups.map((backup) => backup.fileName));
    for (const name of this.#acknowledged)
      if (!listed.has(name) && !this.#openDeletes.has(name))
        violations.push(`archive ${name} is lost`);
    for (const name of this.#deleted)
      if (listed.has(name)) violations.push(`the deleted archive ${name} is back`);
    for (const name of listed) {
      if (this.#acknowledged.has(name) && attack.random() < 0.7) continue;
      const sent = await attack.server(`restore backup ${database} ${name} as probe`);
      if (sent.kind !== 'done') {
        violations.push(`archive ${name}: ${JSON.stringify(sent.answer?.body)}`);
        continue;
      }
      const [sums] = await attack.rows('probe', 'SELECT sum(a + b) AS s, count(*) AS c FROM Pair');
      if (sums?.['s'] !== 0 || sums['c'] !== pairCount)
        violations.push(`archive ${name} is no moment: ${JSON.stringify(sums)}`);
      violations.push(...(await databaseViolations(attack, 'probe')));
      await attack.client.server('drop database probe');
      this.#acknowledged.add(name);
    }
    for (const name of [...this.#acknowledged])
      if (!listed.has(name)) this.#acknowledged.delete(name);
    this.#openDeletes.clear();
    const directory = join(attack.rootPath, 'backups', database);
    const names = existsSync(directory) ? readdirSync(directory) : [];
    const left = names.filter((name) => !name.endsWith('.zip') || name.startsWith('.'));
    if (left.length > 0) violations.push(`left of backups: ${left.join(', ')}`);
    violations.push(...(await databaseViolations(attack, database)));
    return violations;
  }
}
