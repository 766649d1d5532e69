import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anomaliesOf, type Operation, type SeenTransaction } from './history.ts';

const append = (key: number, value: number): Operation => ({ kind: 'append', key, value });
const read = (key: number, ...values: number[]): Operation => ({ kind: 'read', key, values });

function history(
  ...parts: readonly (readonly [SeenTransaction['level'], ...Operation[]])[]
): SeenTransaction[] {
  return parts.map(([level, ...operations], id) => ({
    id,
    level,
    outcome: 'committed',
    operations,
  }));
}

const rc = 'READ_COMMITTED';
const rr = 'REPEATABLE_READ';

test('a serial history has no anomalies', () => {
  const seen = history(
    [rr, append(0, 1), append(1, 2)],
    [rr, read(0, 1), append(0, 3), read(0, 1, 3)],
    [rc, read(1, 2), read(0, 1, 3)],
  );
  const last = new Map([
    [0, [1, 3]],
    [1, [2]],
  ]);
  assert.deepEqual(anomaliesOf(seen, last), []);
});

test('lost, rolled back and half-read appends are found', () => {
  const lost = history([rr, append(0, 1)], [rr, append(0, 2)]);
  assert.match(anomaliesOf(lost, new Map([[0, [2]]])).join(), /0 .*lost an append/);
  const [writer, reader] = history([rr, append(0, 1)], [rr, read(0, 1)]);
  assert.ok(writer && reader);
  const aborted = [{ ...writer, outcome: 'aborted' as const }, reader];
  assert.match(anomaliesOf(aborted, new Map([[0, []]])).join(), /G1a/);
  const half = history([rr, append(0, 1), append(0, 2)], [rc, read(0, 1)]);
  assert.match(anomaliesOf(half, new Map([[0, [1, 2]]])).join(), /G1b/);
});

test('write cycles and circular reads are found', () => {
  const g0 = history([rc, append(0, 1), append(1, 2)], [rc, append(0, 3), append(1, 4)]);
  const crossed = new Map([
    [0, [1, 3]],
    [1, [4, 2]],
  ]);
  assert.match(anomaliesOf(g0, crossed).join(), /cycle/);
  const g1c = history([rc, append(0, 1), read(1, 2)], [rc, append(1, 2), read(0, 1)]);
  const both = new Map([
    [0, [1]],
    [1, [2]],
  ]);
  assert.match(anomaliesOf(g1c, both).join(), /cycle/);
});

test('a fractured read is one of a snapshot only, and write skew is none', () => {
  const last = new Map([
    [0, [1]],
    [1, [2]],
  ]);
  const fractured = (level: SeenTransaction['level']) =>
    history([rc, append(0, 1), append(1, 2)], [level, read(0), read(1, 2)]);
  assert.deepEqual(anomaliesOf(fractured(rc), last), []);
  assert.match(anomaliesOf(fractured(rr), last).join(), /cycle/);
  assert.match(anomaliesOf(fractured('statement'), last).join(), /cycle/);
  const skew = history([rr, read(0), append(1, 2)], [rr, read(1), append(0, 1)]);
  assert.deepEqual(anomaliesOf(skew, last), []);
});

test('a snapshot that changes is found', () => {
  const seen = history([rr, append(0, 1)], [rr, read(0), read(0, 1)]);
  assert.match(anomaliesOf(seen, new Map([[0, [1]]])).join(), /then/);
});
