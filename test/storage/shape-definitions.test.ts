import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogIndex } from '#core/value/rid.ts';
import type { LogEntry } from '#storage/engine.ts';
import {
  Log,
  openEngine,
  person,
  propertiesOf,
  put,
  temporaryDirectory,
} from './engine-fixture.ts';

// Shapes that a server has learnt for a transaction of its own give way to those of the log, which another one has given the same
// numbers.

test('definitions of one commit stay when a later one of it takes the number of a shape that was only learnt', async (context) => {
  const leader = openEngine(temporaryDirectory(context));
  const log = new Log(leader);
  const committed: LogEntry[] = [];
  const commit = async (position: number, property: string) => {
    const entry = log.entry([put(leader, person(position), { [property]: 1 })]);
    committed.push(entry);
    await leader.apply([entry]);
  };
  await commit(1, 'first');
  await commit(2, 'second');

  const follower = openEngine(temporaryDirectory(context));
  // It led before, and nobody committed these; the first one is as in the log, the second one is not.
  put(follower, person(1), { first: 1 });
  put(follower, person(2), { other: 1 });
  await follower.apply(committed);
  for (const engine of [leader, follower]) {
    assert.deepEqual(propertiesOf(engine, person(1)), new Map([['first', 1]]));
    assert.deepEqual(propertiesOf(engine, person(2)), new Map([['second', 1]]));
  }

  // What was only learnt is forgotten, and gets a number of its own when it comes again.
  const next = 3 as LogIndex;
  const operations = [put(follower, person(3), { other: 1 })];
  const definitions = follower.shapes.definitionsFor(operations);
  assert.equal(definitions.length, 1);
  const position = { index: next, term: 1, txId: 3 };
  await follower.apply([{ position, operations: [...definitions, ...operations] }]);
  assert.deepEqual(propertiesOf(follower, person(3)), new Map([['other', 1]]));
  await leader.close();
  await follower.close();
});
