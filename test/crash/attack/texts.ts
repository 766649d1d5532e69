import { setTimeout as sleep } from 'node:timers/promises';
import { type Attack, type Row, resultOf, type Scenario, type Sent } from './scenario.ts';
import {
  type Doc,
  idsText,
  indexed,
  rowOf,
  searchViolations,
  textOf,
  uniqueWord,
  wordsOf,
} from './text-searches.ts';

// Texts that come, change and go under two full-text indexes: one by one, by several in a transaction, by hundreds, with COMPACT, REBUILD
// and new indexes. Searches find what a scan finds, meanwhile, in one state, and after each start. `--folds` makes what stands beside the
// chunks of these indexes go into them all the time (`low-bounds.ts`).

const database = 'texts';
const clientCount = 4;
/** Of one client. */
const idsEach = 500;

type Docs = Map<number, Doc | undefined>;

export class Texts implements Scenario {
  readonly name = 'texts';
  /** Acknowledged. */
  readonly #docs: Docs = new Map();
  /** Of each client, what is under way: all of it or nothing. */
  readonly #open = new Map<number, Docs>();
  #version = 0;
  #isStill = false;
  readonly #live: string[] = [];

  async prepare(attack: Attack): Promise<void> {
    const properties = indexed.flatMap((name) => [
      `CREATE PROPERTY Doc.${name} STRING`,
      `CREATE INDEX ON Doc (${name}) FULL_TEXT`,
    ]);
    await attack.create(
      database,
      'CREATE DOCUMENT TYPE Doc',
      'CREATE PROPERTY Doc.id INTEGER',
      'CREATE INDEX ON Doc (id) UNIQUE',
      ...properties,
    );
  }

  async load(attack: Attack): Promise<void> {
    const clients = Array.from({ length: clientCount }, (_, client) =>
      this.#client(attack, client),
    );
    await Promise.all([
      ...clients,
      this.#paces(attack),
      this.#maintains(attack),
      this.#reads(attack),
    ]);
  }

  /** Now and then nobody writes. */
  async #paces(attack: Attack): Promise<void> {
    while (!attack.isOver) {
      this.#isStill = false;
      await sleep(100 + attack.below(500));
      this.#isStill = true;
      await sleep(30 + attack.below(120));
    }
    this.#isStill = false;
  }

  async #client(attack: Attack, client: number): Promise<void> {
    while (!attack.isOver) {
      if (this.#isStill) await sleep(5);
      else await this.#write(attack, client);
    }
  }

  async #write(attack: Attack, client: number): Promise<void> {
    const base = client * idsEach;
    const ids = Array.from({ length: 1 + attack.below(6) }, () => base + attack.below(idsEach));
    const chance = attack.random();
    if (chance < 0.5) {
      await this.#try(attack, client, this.#planned(attack, ids.slice(0, 1)), this.#single);
    } else if (chance < 0.8) {
      await this.#try(attack, client, this.#planned(attack, ids), this.#session);
    } else {
      const low = base + attack.below(idsEach);
      const high = Math.min(low + 1 + attack.below(chance < 0.95 ? 20 : 400), base + idsEach);
      const change = attack.below(3);
      if (change === 0) await this.#updateRange(attack, client, low, high);
      else if (change === 1 && chance < 0.92) await this.#deleteRange(attack, client, low, high);
      else await this.#insertRange(attack, client, low, high);
    }
  }

  /** Other texts for these ids, or none. */
  #planned(attack: Attack, ids: readonly number[]): Docs {
    const plan: Docs = new Map();
    for (const id of ids) {
      const isGone = this.#docs.get(id) !== undefined && attack.below(3) === 0;
      plan.set(id, isGone ? undefined : this.#doc());
    }
    return plan;
  }

  #doc(): Doc {
    this.#version += 1;
    return { v: this.#version, w: this.#version };
  }

  async #try(
    attack: Attack,
    client: number,
    plan: Docs,
    send: (attack: Attack, plan: Docs) => Promise<Sent>,
  ): Promise<void> {
    if (plan.size === 0) return;
    this.#open.set(client, plan);
    const sent = await send(attack, plan);
    if (sent.kind === 'open') return;
    this.#open.delete(client);
    if (sent.kind !== 'done') return;
    const [first] = plan;
    const before = first && this.#docs.get(first[0]);
    for (const [id, doc] of plan) this.#docs.set(id, doc);
    if (first !== undefined && attack.below(3) === 0) await this.#finds(attack, first, before);
  }

  /** Who has written a text finds it, and not what it was. */
  async #finds(
    attack: Attack,
    [id, doc]: [number, Doc | undefined],
    before: Doc | undefined,
  ): Promise<void> {
    for (const [told, wanted] of [
      [doc, 1],
      [before, 0],
    ] as const) {
      if (told === undefined || (wanted === 0 && told.v === doc?.v)) continue;
      const text = `SELECT id FROM Doc WHERE search_index('Doc[body]', '${uniqueWord(id, told.v)}')`;
      const sent = await attack.sql(database, text);
      if (sent.kind === 'done' && resultOf(sent.answer).length !== wanted)
        this.#live.push(`${text} found ${resultOf(sent.answer).length}, not ${wanted}`);
    }
  }

  readonly #statement = (id: number, doc: Doc | undefined): readonly [string, object] => {
    if (doc === undefined) return ['DELETE FROM Doc WHERE id = :id', { id }];
    if (this.#docs.get(id) === undefined)
      return ['INSERT INTO Doc CONTENT :row', { row: rowOf(id, doc) }];
    const set = 'UPDATE Doc SET v = :v, w = :w, body = :body, note = :note WHERE id = :id';
    return [set, rowOf(id, doc)];
  };

  readonly #single = async (attack: Attack, plan: Docs): Promise<Sent> => {
    const [[id, doc]] = [...plan] as [[number, Doc | undefined]];
    return attack.sql(database, ...this.#statement(id, doc));
  };

  readonly #session = async (attack: Attack, plan: Docs): Promise<Sent> => {
    const begun = await attack.send('POST', `/begin/${database}`, {});
    if (begun.kind !== 'done') return begun;
    const session = begun.answer.headers.get('service-session-id') ?? '';
    const headers = { 'service-session-id': session };
    for (const [id, doc] of plan) {
      const [command, params] = this.#statement(id, doc);
      const body = { language: 'sql', command, params };
      const sent = await attack.send('POST', `/command/${database}`, body, headers);
      if (sent.kind !== 'done') {
        if (sent.kind === 'refused')
          await attack.send('POST', `/rollback/${database}`, {}, headers);
        return sent;
      }
    }
    return attack.send('POST', `/commit/${database}`, undefined, headers);
  };

  #inRange(low: number, high: number): number[] {
    const ids: number[] = [];
    for (let id = low; id < high; id += 1) if (this.#docs.get(id) !== undefined) ids.push(id);
    return ids;
  }

  async #updateRange(attack: Attack, client: number, low: number, high: number): Promise<void> {
    const { w } = this.#doc();
    const plan: Docs = new Map();
    for (const id of this.#inRange(low, high)) plan.set(id, { v: this.#docs.get(id)?.v ?? 0, w });
    const text = 'UPDATE Doc SET w = :w, note = :note WHERE id >= :low AND id < :high';
    const params = { w, note: textOf(w, w), low, high };
    await this.#try(attack, client, plan, () => attack.sql(database, text, params));
  }

  async #deleteRange(attack: Attack, client: number, low: number, high: number): Promise<void> {
    const plan: Docs = new Map(this.#inRange(low, high).map((id) => [id, undefined]));
    const text = 'DELETE FROM Doc WHERE id >= :low AND id < :high';
    await this.#try(attack, client, plan, () => attack.sql(database, text, { low, high }));
  }

  async #insertRange(attack: Attack, client: number, low: number, high: number): Promise<void> {
    const plan: Docs = new Map();
    for (let id = low; id < high; id += 1)
      if (this.#docs.get(id) === undefined) plan.set(id, this.#doc());
    const rows = [...plan].map(([id, doc]) => rowOf(id, doc as Doc));
    await this.#try(attack, client, plan, () =>
      attack.sql(database, 'INSERT INTO Doc CONTENT :rows', { rows }),
    );
  }

  async #maintains(attack: Attack): Promise<void> {
    while (!attack.isOver) {
      await sleep(attack.below(1200));
      const name = `\`Doc[${attack.pick(indexed)}]\``;
      const chance = attack.random();
      if (chance < 0.55) await attack.sql(database, `COMPACT INDEX ${name}`);
      else if (chance < 0.85) await attack.sql(database, `REBUILD INDEX ${name}`);
      else {
        await attack.sql(database, 'DROP INDEX `Doc[note]`');
        await attack.sql(database, 'CREATE INDEX ON Doc (note) FULL_TEXT');
      }
    }
  }

  /** What a session searches and scans is one state, however much goes on meanwhile. */
  async #reads(attack: Attack): Promise<void> {
    while (!attack.isOver) {
      const begun = await attack.send('POST', `/begin/${database}`, {
        isolationLevel: 'REPEATABLE_READ',
      });
      if (begun.kind !== 'done') continue;
      const session = begun.answer.headers.get('service-session-id') ?? '';
      const headers = { 'service-session-id': session };
      const ask = async (command: string) => {
        const body = { language: 'sql', command, limit: -1 };
        const sent = await attack.send('POST', `/command/${database}`, body, headers);
        return sent.kind === 'done' ? resultOf(sent.answer) : undefined;
      };
      const word = `w${attack.below(20)}`;
      const search = `SELECT id FROM Doc WHERE search_index('Doc[body]', '${word}')`;
      const first = await ask(search);
      await sleep(attack.below(300));
      const again = await ask(search);
      const scanned = await ask('SELECT id, body FROM Doc');
      await attack.send('POST', `/rollback/${database}`, {}, headers);
      if (first === undefined || again === undefined || scanned === undefined) continue;
      const wanted = idsText(scanned.filter((row) => wordsOf(row['body']).has(word)));
      for (const found of [first, again])
        if (idsText(found) !== wanted)
          this.#live.push(`a session searches ${word}: ${idsText(found)}, and scans ${wanted}`);
    }
  }

  async verify(attack: Attack): Promise<string[]> {
    const violations = this.#live.splice(0);
    const rows = await attack.rows(database, 'SELECT @rid, id, v, w, body, note FROM Doc');
    this.#settle(rows, violations);
    await makeSureOfIndex(attack);
    for (const name of indexed)
      violations.push(...(await searchViolations(attack, database, name, rows)));
    const [check] = await attack.rows(database, 'CHECK DATABASE');
    if (check?.['totalErrors'] !== 0)
      violations.push(`CHECK DATABASE of ${database}: ${JSON.stringify(check).slice(0, 600)}`);
    if (attack.below(4) > 0) return violations;
    // Quiet times bring all in.
    await sleep(200);
    if (attack.below(2) === 0) await attack.rows(database, 'COMPACT INDEX `Doc[body]`');
    for (const name of indexed)
      for (const text of await searchViolations(attack, database, name, rows))
        violations.push(`after a quiet time: ${text}`);
    return violations;
  }

  #settle(rows: readonly Row[], violations: string[]): void {
    const found = new Map(rows.map((row) => [Number(row['id']), row]));
    if (found.size !== rows.length) violations.push('a unique id stands twice');
    for (const [id, row] of found) {
      const doc = { v: Number(row['v']), w: Number(row['w']) };
      const { body, note } = rowOf(id, doc);
      if (row['body'] !== body || row['note'] !== note)
        violations.push(`text ${id} is there by half`);
    }
    const isAs = (id: number, doc: Doc | undefined) => {
      const row = found.get(id);
      return row?.['v'] === doc?.v && row?.['w'] === doc?.w;
    };
    for (const plan of this.#open.values()) {
      const isDone = [...plan].every(([id, doc]) => isAs(id, doc));
      if (isDone) for (const [id, doc] of plan) this.#docs.set(id, doc);
    }
    this.#open.clear();
    for (const [id, doc] of this.#docs)
      if (!isAs(id, doc))
        violations.push(
          `text ${id} is ${JSON.stringify(found.get(id))}, not ${JSON.stringify(doc)}`,
        );
    for (const id of found.keys())
      if (!this.#docs.has(id)) violations.push(`text ${id} was never sent`);
  }
}

/** The kill may have come between its end and its beginning. */
async function makeSureOfIndex(attack: Attack): Promise<void> {
  const types = await attack.rows(database, "SELECT indexes FROM schema:types WHERE name = 'Doc'");
  const names = types
    .flatMap((type) => type['indexes'] as readonly Row[])
    .map((index) => index['name']);
  if (!names.includes('Doc[note]'))
    await attack.rows(database, 'CREATE INDEX ON Doc (note) FULL_TEXT');
}
