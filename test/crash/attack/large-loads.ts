import { type Attack, edgeViolations, type Scenario } from './scenario.ts';

// Chunks so large that their edges wait in runs beside the lists of their vertices (storage/DECISIONS.md), and single edges that
// come and go at the same vertices meanwhile.

const database = 'largeloads';
const vertexCount = 500;
const edgeCount = 120_000;
const chunkRecords = 40_000;
/** Of one round, so that it can be verified soon. */
const callsMax = 4;

interface Call {
  readonly id: string;
  isWhole: boolean;
}

export class LargeLoads implements Scenario {
  readonly name = 'largeLoads';
  readonly #calls: Call[] = [];
  /** Numbers of single edges: those that were certainly made, and those of which it is open whether they were deleted. */
  readonly #made = new Set<number>();
  readonly #isDeletionOpen = new Set<number>();
  readonly #isDeleted = new Set<number>();
  #next = 0;

  async prepare(attack: Attack): Promise<void> {
    await attack.create(
      database,
      'CREATE VERTEX TYPE P',
      'CREATE PROPERTY P.call STRING',
      'CREATE EDGE TYPE K',
      'CREATE PROPERTY K.call STRING',
      'CREATE PROPERTY K.n INTEGER',
    );
  }

  async load(attack: Attack): Promise<void> {
    await Promise.all([this.#loads(attack), this.#singles(attack)]);
  }

  async #loads(attack: Attack): Promise<void> {
    while (!attack.isOver && this.#calls.length < callsMax) {
      const call: Call = { id: `c${this.#next++}`, isWhole: false };
      this.#calls.push(call);
      const path = `batch/${database}?commitEvery=${chunkRecords}&idMapping=false`;
      try {
        const answer = await attack.post(path, { 'content-type': 'text/csv' }, lines(call.id));
        const body = await answer.json();
        if (answer.status === 200) call.isWhole = true;
        else if (answer.status >= 500)
          attack.failures.judge({ request: `${answer.status} for POST ${path}`, answer: body });
      } catch {
        attack.end();
      }
    }
  }

  async #singles(attack: Attack): Promise<void> {
    while (!attack.isOver) {
      const ends = await attack.sql(
        database,
        `SELECT @rid FROM P ORDER BY call DESC SKIP ${attack.below(vertexCount)} LIMIT 2`,
      );
      const rows = ends.kind === 'done' ? ridsOf(ends.answer.body) : [];
      const [from, to] = rows;
      if (from === undefined || to === undefined) {
        await new Promise((done) => setTimeout(done, 20));
        continue;
      }
      const n = this.#next++;
      const made = `CREATE EDGE K FROM ${from} TO ${to} SET call = 'single', n = ${n}`;
      const sent = await attack.sql(database, made);
      if (sent.kind !== 'done') continue;
      this.#made.add(n);
      const [edge] = ridsOf(sent.answer.body);
      if (edge === undefined || attack.below(2) === 0) continue;
      this.#isDeletionOpen.add(n);
      const deleted = await attack.sql(database, `DELETE FROM ${edge}`);
      if (deleted.kind === 'done') this.#isDeleted.add(n);
    }
  }

  async verify(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const counted = await attack.rows(
      database,
      'SELECT call, count(*) AS c, max(n) AS high FROM K GROUP BY call',
    );
    for (const { id, isWhole } of this.#calls) {
      const edges = counted.find((row) => row['call'] === id);
      const count = Number(edges?.['c'] ?? 0);
      if (isWhole && count !== edgeCount)
        violations.push(`call ${id} was answered, there are ${count} edges`);
      const isPrefix = count === 0 || Number(edges?.['high']) === count - 1;
      const isWholeChunk = count === edgeCount || (count + vertexCount) % chunkRecords === 0;
      if (!isPrefix || (count > 0 && !isWholeChunk))
        violations.push(`call ${id} left ${count} edges up to ${edges?.['high']}`);
    }
    const singles = await attack.rows(database, "SELECT n FROM K WHERE call = 'single'");
    const found = new Set(singles.map((row) => Number(row['n'])));
    for (const n of this.#made)
      if (!found.has(n) && !this.#isDeletionOpen.has(n)) violations.push(`edge ${n} is lost`);
    for (const n of this.#isDeleted) if (found.has(n)) violations.push(`edge ${n} is there again`);
    violations.push(...(await edgeViolations(attack, database, 'P', 'K')));
    const [check] = await attack.rows(database, 'CHECK DATABASE');
    if (check?.['totalErrors'] !== 0)
      violations.push(`CHECK DATABASE of ${database}: ${JSON.stringify(check).slice(0, 600)}`);
    await this.#beginAnew(attack);
    return violations;
  }

  /** What is verified goes, so that later rounds stay quick. */
  async #beginAnew(attack: Attack): Promise<void> {
    await attack.server(`drop database ${database}`);
    await this.prepare(attack);
    this.#calls.length = 0;
    for (const numbers of [this.#made, this.#isDeletionOpen, this.#isDeleted]) numbers.clear();
  }
}

function ridsOf(body: unknown): string[] {
  const { result } = body as { result: readonly Readonly<Record<string, unknown>>[] };
  return result.map((row) => String(row['@rid']));
}

function* lines(call: string): Generator<Uint8Array> {
  let text = '@type,@class,@id,call\n';
  for (let n = 0; n < vertexCount; n += 1) text += `v,P,t${n},${call}\n`;
  text += '---\n@type,@class,@from,@to,call,n\n';
  for (let n = 0; n < edgeCount; n += 1) {
    text += `e,K,t${(n * 7919) % vertexCount},t${n % 5 === 0 ? 3 : (n * 31) % vertexCount},${call},${n}\n`;
    if (n % 1000 < 999) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text);
}
