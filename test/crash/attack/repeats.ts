import { type Attack, databaseViolations, type Scenario } from './scenario.ts';

// Requests with ids of the client's choice, all of them sent again after the stop: none is executed twice (limits.md 17, ha.md
// 5.9). A `/batch` that was cut between its chunks is executed anew; what it had committed stays (http-api.md 10.6).

const database = 'repeats';
const chunkSizes = [50, 100, 1000];
/** Rows of a `/batch`; multiples of the chunks are among them. */
const rowCounts = [100, 150, 333];

interface Call {
  readonly tag: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly rowCount: number;
  isAnswered: boolean;
}

export class Repeats implements Scenario {
  readonly name = 'repeats';
  readonly #calls: Call[] = [];
  #next = 0;

  async prepare(attack: Attack): Promise<void> {
    await attack.create(database, 'CREATE VERTEX TYPE R');
  }

  async load(attack: Attack): Promise<void> {
    const clients = Array.from({ length: 4 }, async (_, client) => {
      while (!attack.isOver) {
        const call = this.#make(attack, client);
        this.#calls.push(call);
        call.isAnswered = (await this.#send(attack, call)) !== undefined;
      }
    });
    await Promise.all(clients);
  }

  #make(attack: Attack, client: number): Call {
    const tag = `r${this.#next++}`;
    if (client % 2 === 0) return statement(tag, attack.below(3));
    const rowCount = attack.pick(rowCounts) ?? 1;
    const isCsv = attack.below(2) === 0;
    const lines = Array.from({ length: rowCount }, (_, n) =>
      isCsv ? `v,R,${tag},${n}` : `{"@type":"v","@class":"R","tag":"${tag}","n":${n}}`,
    );
    if (isCsv) lines.unshift('@type,@class,tag,n');
    return {
      tag,
      path: `batch/${database}?commitEvery=${attack.pick(chunkSizes)}`,
      headers: { 'content-type': isCsv ? 'text/csv' : 'application/x-ndjson' },
      body: `${lines.join('\n')}\n`,
      rowCount,
      isAnswered: false,
    };
  }

  /** @returns undefined when it is not known what became of it */
  async #send(attack: Attack, call: Call): Promise<unknown> {
    const { path, headers, body, tag } = call;
    try {
      const answer = await attack.post(path, { ...headers, 'x-request-id': tag }, body);
      const text = await answer.text();
      if (answer.ok) return JSON.parse(text);
      if (answer.status >= 500)
        attack.failures.judge({
          request: `${answer.status} for POST ${path} (${tag})`,
          answer: JSON.parse(text),
        });
      if (answer.status === 503) await new Promise((done) => setTimeout(done, 2));
      else attack.remark(`repeats: ${answer.status} ${text.slice(0, 160)}`);
    } catch {
      attack.end();
    }
    return undefined;
  }

  async verify(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const before = await this.#counts(attack);
    // The newest only: what is older may be forgotten by now.
    const repeated = this.#calls.slice(-400);
    for (const call of repeated) {
      const found = before.get(call.tag) ?? 0;
      const isLater = call.body.includes('awaitResponse');
      if (call.isAnswered && !isLater && found !== call.rowCount)
        violations.push(`${call.tag} was answered and left ${found} of ${call.rowCount} rows`);
      if ((await this.#send(attack, call)) === undefined)
        violations.push(`${call.tag} was refused when it was sent again`);
    }
    // Behind them in the queue, so that they are done.
    await attack.sql(database, 'INSERT INTO R SET last = true', {}, { awaitResponse: false });
    const isDone = async () =>
      (await attack.rows(database, 'SELECT count(*) AS c FROM R WHERE last = true'))[0]?.['c'] !==
      0;
    for (let look = 0; !(await isDone()); look += 1) {
      if (look === 1000) return [...violations, 'a statement in the queue was never executed'];
      await new Promise((done) => setTimeout(done, 20));
    }
    const after = await this.#counts(attack);
    for (const { tag, rowCount } of repeated) {
      const left = before.get(tag) ?? 0;
      const expected = left === rowCount ? rowCount : left + rowCount;
      if (after.get(tag) !== expected)
        violations.push(
          `${tag}: ${left} of ${rowCount} rows before it was sent again, ${after.get(tag)} after`,
        );
    }
    violations.push(...(await databaseViolations(attack, database)));
    await attack.rows(database, 'DELETE FROM R');
    this.#calls.length = 0;
    return violations;
  }

  async #counts(attack: Attack): Promise<ReadonlyMap<string, number>> {
    const rows = await attack.rows(database, 'SELECT tag, count(*) AS c FROM R GROUP BY tag');
    return new Map(rows.map((row) => [String(row['tag']), Number(row['c'])]));
  }
}

/** @param kind 0: a statement, 1: a script, 2: a statement that waits in the queue */
function statement(tag: string, kind: number): Call {
  const insert = 'INSERT INTO R SET tag = :tag';
  const [language, command] = kind === 1 ? ['sqlscript', `${insert}; ${insert}`] : ['sql', insert];
  const more = kind === 2 ? { awaitResponse: false } : {};
  return {
    tag,
    path: `command/${database}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ language, command, params: { tag }, ...more }),
    rowCount: kind === 1 ? 2 : 1,
    isAnswered: false,
  };
}
