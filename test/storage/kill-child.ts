import { makeRid, type Rid } from '#core/rid.ts';
import { knowsBucket, knowsType, Log, openEngine, person, put } from './engine-fixture.ts';

// Writes until it is killed; says what was acknowledged, one line per commit: the number of the round.
// Each round puts two rows, an edge between them with its adjacency, and deletes the row before the last.

const engine = openEngine(process.argv[2] as string);
const log = new Log(engine);
let round = engine.applied().index as number;

async function client(): Promise<void> {
  for (;;) {
    const at = round++;
    const [a, b] = [person(at * 2), person(at * 2 + 1)];
    const edge: Rid = makeRid(knowsBucket, at);
    await log.commit(
      put(engine, a, { round: at, text: 'x'.repeat((at * 37) % 2500) }),
      put(engine, b, { round: at }),
      put(engine, edge, { round: at }, { out: a, in: b }),
      { op: 'add-edge', rid: edge, type: knowsType, from: a, to: b, both: true },
    );
    process.stdout.write(`${at}\n`);
  }
}

await Promise.all([client(), client(), client()]);
