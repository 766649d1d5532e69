import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { makeRid } from '#core/value/rid.ts';
import { walkEnvironment } from '#storage/environment/walk.ts';
import {
  counterPosition,
  knowsBucket,
  knowsType,
  openEngine,
  person,
  personBucket,
  temporaryDirectory,
  turnTimers,
} from '../engine-fixture.ts';

const child = new URL('../kill-child.ts', import.meta.url).pathname;

/** Lets a child write until `count` rounds are acknowledged, kills it and gives the acknowledged rounds. */
async function writeAndKill(directory: string, count: number): Promise<number[]> {
  const writer = spawn(process.execPath, [child, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const rounds: number[] = [];
  let rest = '';
  writer.stdout.setEncoding('utf8');
  writer.stdout.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    rounds.push(...lines.map(Number));
    if (rounds.length >= count) writer.kill('SIGKILL');
  });
  await once(writer, 'close');
  return rounds;
}

test('what was acknowledged survives a kill, and commits are whole', async (context) => {
  const directory = temporaryDirectory(context);
  const acknowledged: number[] = [];
  for (const count of [1, 40, 150]) {
    acknowledged.push(...(await writeAndKill(directory, count)));
    await walkEnvironment(directory, turnTimers);
    const engine = openEngine(directory);
    using snapshot = engine.snapshot();
    for (const round of acknowledged) {
      assert.equal(snapshot.record(person(round * 2))?.get('round'), round);
    }
    let rows = 1;
    let newest = -1;
    for (let round = 0; round < snapshot.nextPosition(knowsBucket); round++) {
      const source = snapshot.record(person(round * 2));
      assert.equal(snapshot.record(person(round * 2 + 1)) === undefined, source === undefined);
      if (source === undefined) continue;
      rows += 2;
      newest = round;
      assert.equal(String(source.get('text')).length, (round * 37) % 2500);
      // A stop may leave the edges of ten rounds before it, and of none that is older.
      const edge = snapshot.record(makeRid(knowsBucket, round));
      const isListed = snapshot.degree(source.rid, 'out', knowsType) === 1;
      assert.equal(isListed, edge !== undefined);
      if (edge === undefined) continue;
      assert.deepEqual([...snapshot.adjacency(edge.out, 'out', knowsType).edges], [edge.rid]);
      assert.deepEqual([...snapshot.adjacency(edge.in, 'in', knowsType).vertices], [edge.out]);
    }
    assert.equal(snapshot.recordCount(personBucket), rows);
    assert.equal(snapshot.record(person(counterPosition))?.get('round'), newest);
    snapshot[Symbol.dispose]();
    await engine.close();
  }
});
