import { type Attack, databaseViolations, edgeViolations, type Scenario } from './scenario.ts';

// `/batch` with a streamed answer: what a progress line says is committed, an open call leaves a prefix of whole chunks
// (limits.md 1), and an edge stands at both of its ends.

const database = 'batches';
const vertexCount = 6000;
const edgeCount = 6000;

interface Call {
  readonly id: string;
  vertices: number;
  edges: number;
  isWhole: boolean;
}

export class Batches implements Scenario {
  readonly name = 'batches';
  readonly #calls: Call[] = [];
  #next = 0;

  async prepare(attack: Attack): Promise<void> {
    await attack.create(
      database,
      'CREATE VERTEX TYPE P',
      'CREATE PROPERTY P.call STRING',
      'CREATE PROPERTY P.n INTEGER',
      'CREATE INDEX ON P (call, n) UNIQUE',
      'CREATE EDGE TYPE K',
    );
  }

  async load(attack: Attack): Promise<void> {
    while (!attack.isOver) await this.#call(attack);
  }

  async #call(attack: Attack): Promise<void> {
    const call: Call = { id: `c${this.#next++}`, vertices: 0, edges: 0, isWhole: false };
    this.#calls.push(call);
    const chunk = 200 + attack.below(1500);
    const path = `batch/${database}?commitEvery=${chunk}&vertexBatchSize=${chunk}&batchSize=${chunk}&idMapping=false`;
    const type = 'application/x-ndjson';
    try {
      const answer = await attack.post(
        path,
        { 'content-type': type, accept: type },
        lines(call.id),
      );
      if (answer.status >= 500) {
        attack.failures.judge({
          request: `${answer.status} for POST ${path}`,
          answer: await answer.json(),
        });
        await new Promise((done) => setTimeout(done, 2));
        return;
      }
      let rest = '';
      for await (const piece of answer.body ?? []) {
        rest += Buffer.from(piece as Uint8Array).toString();
        const parts = rest.split('\n');
        rest = parts.pop() ?? '';
        for (const part of parts) take(attack, call, part);
      }
    } catch {
      attack.end();
    }
  }

  async verify(attack: Attack): Promise<string[]> {
    const violations: string[] = [];
    const counted = await attack.rows(
      database,
      'SELECT call, count(*) AS c, min(n) AS low, max(n) AS high FROM P GROUP BY call',
    );
    const edges = await attack.rows(
      database,
      'SELECT call, count(*) AS c, max(n) AS high FROM K GROUP BY call',
    );
    for (const call of this.#calls) {
      const vertices = counted.find((row) => row['call'] === call.id);
      const ofEdges = edges.find((row) => row['call'] === call.id);
      const found = Number(vertices?.['c'] ?? 0);
      const foundEdges = Number(ofEdges?.['c'] ?? 0);
      if (found < call.vertices || foundEdges < call.edges) {
        violations.push(
          `call ${call.id} told of ${call.vertices} vertices and ${call.edges} edges, there are ${found} and ${foundEdges}`,
        );
      }
      if (call.isWhole && (found !== vertexCount || foundEdges !== edgeCount))
        violations.push(`call ${call.id} was answered and is there with ${found}, ${foundEdges}`);
      if (found > 0 && Number(vertices?.['high']) !== found - 1)
        violations.push(`call ${call.id} left ${found} vertices up to ${vertices?.['high']}`);
      if (foundEdges > 0 && Number(ofEdges?.['high']) !== foundEdges - 1)
        violations.push(`call ${call.id} left ${foundEdges} edges up to ${ofEdges?.['high']}`);
      if (foundEdges > 0 && found !== vertexCount)
        violations.push(`call ${call.id} has edges before its vertices`);
    }
    violations.push(...(await edgeViolations(attack, database, 'P', 'K')));
    violations.push(...(await databaseViolations(attack, database)));
    // What is verified goes, so that later rounds stay quick.
    await attack.rows(database, 'DELETE FROM P');
    const [left] = await attack.rows(database, 'SELECT count(*) AS c FROM K');
    if (left?.['c'] !== 0) violations.push(`${left?.['c']} edges outlived their vertices`);
    this.#calls.length = 0;
    return violations;
  }
}

function* lines(call: string): Generator<Uint8Array> {
  const size = 100;
  for (let start = 0; start < vertexCount; start += size) {
    let text = '';
    for (let n = start; n < start + size; n += 1)
      text += `{"@type":"v","@class":"P","@id":"t${n}","call":"${call}","n":${n}}\n`;
    yield Buffer.from(text);
  }
  for (let start = 0; start < edgeCount; start += size) {
    let text = '';
    for (let n = start; n < start + size; n += 1)
      text += `{"@type":"e","@class":"K","@from":"t${n}","@to":"t${(n * 7) % 50}","call":"${call}","n":${n}}\n`;
    yield Buffer.from(text);
  }
}

function take(attack: Attack, call: Call, line: string): void {
  if (line.trim() === '') return;
  const told = JSON.parse(line) as Record<string, Record<string, number> | undefined>;
  const counts = told['progress'] ?? told['summary'] ?? told['error'];
  if (typeof counts === 'object') {
    call.vertices = Math.max(call.vertices, counts['verticesCreated'] ?? 0);
    call.edges = Math.max(call.edges, counts['edgesCreated'] ?? 0);
  }
  if (told['summary'] !== undefined) call.isWhole = true;
  if (told['error'] === undefined) return;
  attack.remark(`batch: ${line.slice(0, 160)}`);
  if ((told['error']['status'] ?? 0) >= 500)
    attack.failures.judge({ request: `batch ${call.id}`, answer: told['error'] });
}
