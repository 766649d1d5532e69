import { type Attack, databaseViolations, type Row, type Scenario } from './scenario.ts';

// Triggers and materialized views: what a trigger writes is committed with what set it off, and a view equals its query soon
// after a start.

const database = 'derived';
const views = {
  Totals: 'SELECT grp, sum(n) AS total, count(*) AS c FROM Sale GROUP BY grp',
  Large: 'SELECT tag, n FROM Sale WHERE n >= 50',
} as const;

export class Derived implements Scenario {
  readonly name = 'triggers and views';
  readonly #done = new Map<string, number>();
  readonly #open = new Set<string>();
  #next = 0;

  async prepare(attack: Attack): Promise<void> {
    await attack.create(
      database,
      'CREATE DOCUMENT TYPE Sale',
      'CREATE PROPERTY Sale.tag STRING',
      'CREATE INDEX ON Sale (tag) UNIQUE',
      'CREATE DOCUMENT TYPE Journal',
      'CREATE TRIGGER added AFTER CREATE ON TYPE Sale EXECUTE SQL "INSERT INTO Journal SET tag = $record.tag, what = \'added\'"',
      'CREATE TRIGGER gone AFTER DELETE ON TYPE Sale EXECUTE SQL "DELETE FROM Journal WHERE tag = $record.tag"',
      ...Object.entries(views).map(
        ([name, query]) => `CREATE MATERIALIZED VIEW ${name} AS ${query} REFRESH INCREMENTAL`,
      ),
    );
  }

  async load(attack: Attack): Promise<void> {
    const clients = Array.from({ length: 3 }, async () => {
      while (!attack.isOver) await this.#step(attack);
    });
    await Promise.all(clients);
  }

  async #step(attack: Attack): Promise<void> {
    const choice = attack.random();
    const tag = choice < 0.6 ? `s${this.#next++}` : attack.pick([...this.#done.keys()]);
    if (tag === undefined || this.#open.has(tag)) return;
    const params = { tag, n: attack.below(100), grp: attack.below(5) };
    this.#open.add(tag);
    const isDelete = choice >= 0.85;
    const command =
      choice < 0.6
        ? 'INSERT INTO Sale SET tag = :tag, n = :n, grp = :grp'
        : isDelete
          ? 'DELETE FROM Sale WHERE tag = :tag'
          : 'UPDATE Sale SET n = :n WHERE tag = :tag';
    const sent = await attack.sql(database, command, params);
    if (sent.kind === 'open') return;
    this.#open.delete(tag);
    if (sent.kind === 'refused') return;
    if (isDelete) this.#done.delete(tag);
    else this.#done.set(tag, params.n);
  }

  async verify(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const sales = await attack.rows(database, 'SELECT tag, n FROM Sale');
    const found = new Map(sales.map((row) => [String(row['tag']), Number(row['n'])]));
    for (const [tag, n] of this.#done)
      if (found.get(tag) !== n && !this.#open.has(tag)) violations.push(`sale ${tag} is not ${n}`);
    for (const tag of found.keys())
      if (!this.#done.has(tag) && !this.#open.has(tag))
        violations.push(`sale ${tag} should be gone`);
    const journal = await attack.rows(database, 'SELECT tag FROM Journal');
    const noted = journal.map((row) => String(row['tag'])).sort();
    if (noted.join() !== [...found.keys()].sort().join())
      violations.push(`the journal has ${noted.length} entries for ${found.size} sales`);
    for (const [name, query] of Object.entries(views)) {
      const seen = asText(await attack.rows(database, `SELECT FROM ${name}`));
      const computed = asText(await attack.rows(database, query));
      if (seen !== computed)
        violations.push(
          `view ${name} is ${seen.slice(0, 200)}, its query gives ${computed.slice(0, 200)}`,
        );
    }
    this.#done.clear();
    for (const [tag, n] of found) this.#done.set(tag, n);
    this.#open.clear();
    violations.push(...(await databaseViolations(attack, database)));
    return violations;
  }
}

function asText(rows: readonly Row[]): string {
  return rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .filter(([name]) => !name.startsWith('@'))
          .sort(),
      ),
    )
    .sort()
    .join();
}
