import { makeRid, type Rid } from '#core/value/rid.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import {
  counterPosition,
  knowsBucket,
  knowsType,
  Log,
  openEngine,
  person,
  put,
} from './engine-fixture.ts';

// Writes until it is killed; says what was acknowledged, one line per commit: the number of the round.
// Each round puts two rows and an edge between them with its adjacency, sets the counter to the number of the round, and
// deletes the edge of ten rounds before.

const engine = openEngine(process.argv[2] as string);
const log = new Log(engine);
let round = engine.applied().index as number;

function operationsOf(at: number): RowOperation[] {
  const [a, b] = [person(at * 2), person(at * 2 + 1)];
  const edge: Rid = makeRid(knowsBucket, at);
  const operations: RowOperation[] = [
    put(engine, a, { round: at, text: 'x'.repeat((at * 37) % 2500) }),
    put(engine, b, { round: at }),
    put(engine, edge, { round: at }, { out: a, in: b }),
    { op: 'add-edge', rid: edge, type: knowsType, from: a, to: b, both: true },
    put(engine, person(counterPosition), { round: at }),
  ];
  if (at < 10) return operations;
  const old = at - 10;
  const ends = { from: person(old * 2), to: person(old * 2 + 1), both: true };
  return [
    ...operations,
    { op: 'delete-row', rid: makeRid(knowsBucket, old) },
    { op: 'remove-edge', rid: makeRid(knowsBucket, old), type: knowsType, ...ends },
  ];
}

async function client(): Promise<void> {
  for (;;) {
    const at = round++;
    await log.commit(...operationsOf(at));
    process.stdout.write(`${at}\n`);
  }
}

await Promise.all([client(), client(), client()]);
