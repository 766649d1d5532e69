import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkBank,
  checkDeleteAgainstConnect,
  checkExactlyOnce,
  checkGraphBank,
  checkSet,
  checkUnique,
} from './checkers.ts';
import { checkEventual } from './eventual.ts';
import { type Operation, parseHistory, printHistory } from './history.ts';
import { checkLists, type ListStep } from './lists.ts';
import { checkRegisters } from './register.ts';
import { checkBookmarks, checkCompareAndSet } from './sessions.ts';

// Each checker passes a history that is right and finds what is wrong in one that is not.

let time = 0;

function done(op: string, value: unknown, more: Partial<Operation> = {}): Operation {
  time += 2;
  return { process: 'c', op, value, call: time, return: time + 1, outcome: 'ok', ...more };
}

function ofRegister(
  op: 'write' | 'read',
  value: number | null,
  call: number,
  end?: number,
): Operation {
  const known = { process: `c${call}`, op, key: 'x', value, call };
  return end === undefined
    ? { ...known, outcome: 'unknown' }
    : { ...known, return: end, outcome: 'ok' };
}

test('registers', () => {
  const right = [
    ofRegister('read', null, 0, 1),
    ofRegister('write', 1, 2, 5),
    ofRegister('read', 1, 3, 4),
    ofRegister('write', 2, 6),
    ofRegister('read', 1, 7, 8),
    ofRegister('read', 2, 9, 10),
  ];
  assert.deepEqual(checkRegisters(parseHistory(printHistory(right))), []);
  const back = [...right, ofRegister('read', 1, 11, 12)];
  assert.equal(checkRegisters(back).length, 1, 'an old value comes back');
  const stale = [ofRegister('write', 1, 0, 1), ofRegister('read', null, 2, 3)];
  assert.equal(checkRegisters(stale).length, 1, 'an acknowledged write is not seen');
  assert.equal(checkRegisters([ofRegister('read', 7, 0, 1)]).length, 1, 'nobody wrote it');
  const refused = [
    { ...ofRegister('write', 1, 0, 1), outcome: 'failed' as const },
    ofRegister('read', 1, 2, 3),
  ];
  assert.equal(checkRegisters(refused).length, 1, 'a refused write is seen');
  const within = [
    ofRegister('write', 1, 0, 1),
    ofRegister('write', 2, 3, 4),
    ofRegister('read', 1, 6, 7),
  ];
  assert.equal(checkRegisters(within).length, 1, 'a write came and went unseen');
});

test('bank, set, unique, exactly once', () => {
  const read = (a: number, b: number) => done('read', { a, b });
  assert.deepEqual(checkBank([read(5, 5), read(3, 7)], 10), []);
  assert.equal(checkBank([read(5, 4)], 10).length, 1);
  assert.equal(checkBank([read(11, -1)], 10).length, 1);

  const added = [
    done('add', 1),
    done('add', 2, { outcome: 'unknown' }),
    done('add', 3, { outcome: 'failed' }),
  ];
  assert.deepEqual(checkSet([...added, done('final', [1, 2])]), []);
  assert.deepEqual(checkSet([...added, done('final', [1])]), []);
  for (const wrong of [[2], [1, 3], [1, 1], [1, 9]])
    assert.equal(checkSet([...added, done('final', wrong)]).length, 1, String(wrong));

  const inserted = [
    done('insert', 1, { key: 'k' }),
    done('insert', 2, { key: 'k', outcome: 'failed' }),
    done('insert', 3, { key: 'm', outcome: 'failed' }),
  ];
  assert.deepEqual(checkUnique([...inserted, done('final', ['k'])]), []);
  for (const wrong of [[], ['k', 'k'], ['k', 'm']])
    assert.equal(checkUnique([...inserted, done('final', wrong)]).length, 1, String(wrong));
  const twoWinners = [...inserted, done('insert', 4, { key: 'k' }), done('final', ['k'])];
  assert.equal(checkUnique(twoWinners).length, 1);

  const sent = [
    done('increment', 'a', { outcome: 'unknown' }),
    done('increment', 'a'),
    done('increment', 'b', { outcome: 'unknown' }),
  ];
  for (const right of [1, 2])
    assert.deepEqual(checkExactlyOnce([...sent, done('final', right)]), []);
  for (const wrong of [0, 3])
    assert.equal(checkExactlyOnce([...sent, done('final', wrong)]).length, 1);
});

test('compare and set, bookmarks', () => {
  const swap = (from: number | null, to: number) => done('cas', [from, to], { key: 'x' });
  const chain = [swap(null, 1), swap(1, 2), done('read', 2, { key: 'x' })];
  assert.deepEqual(checkCompareAndSet(chain), []);
  const twice = [swap(null, 1), swap(1, 2), swap(1, 3), done('read', 3, { key: 'x' })];
  assert.equal(checkCompareAndSet(twice).length, 1, 'a value is replaced twice');
  const refused = [swap(null, 1), { ...swap(1, 2), outcome: 'failed' as const }];
  assert.deepEqual(checkCompareAndSet([...refused, done('read', 1, { key: 'x' })]), []);
  assert.equal(checkCompareAndSet([...refused, done('read', 2, { key: 'x' })]).length, 1);

  const write = (value: number) => done('write', value, { key: 'x' });
  const read = (value: number | null) => done('read', value, { key: 'x' });
  assert.deepEqual(checkBookmarks([read(null), write(1), read(1), write(2), read(2)]), []);
  assert.equal(checkBookmarks([write(1), read(null)]).length, 1, 'its own write is not seen');
  assert.equal(checkBookmarks([write(1), write(2), read(2), read(1)]).length, 1, 'it goes back');
  assert.equal(checkBookmarks([write(1), read(2)]).length, 1, 'nobody wrote it');
});

test('states of a node', () => {
  const write = (value: number) => done('write', value, { key: 'x' });
  const state = (first: number, second: number, more: Partial<Operation> = {}) =>
    done('state', { x: [first, second] }, { node: 'a', ...more });
  const writes = [write(1), write(2), write(3)];
  const found = (...states: readonly Operation[]) => checkEventual([...writes, ...states]).length;
  assert.equal(found(state(0, 0), state(1, 1), state(3, 3)), 0);
  assert.equal(found(state(2, 2), state(1, 1, { node: 'b' })), 0, 'another node may be behind');
  assert.equal(found(state(2, 2), state(1, 1)), 1, 'it goes back');
  assert.equal(found(state(2, 1)), 1, 'half of a transaction');
  assert.equal(found(state(4, 4)), 2, 'nobody wrote it');
  // One that had begun before the other one ended may show less.
  const slow = state(1, 1, { call: 0 });
  assert.equal(found(state(2, 2), slow), 0);
});

test('graph bank, delete against connect', () => {
  const edge = { id: 1, from: 'a', to: 'b', amount: 3 };
  const state = (more: object) =>
    done('final', { initial: 10, balances: { a: 7, b: 13 }, out: [edge], in: [edge], ...more });
  const moved = done('transfer', 1);
  assert.deepEqual(checkGraphBank([moved, state({})]), []);
  assert.equal(checkGraphBank([moved, state({ balances: { a: 7, b: 10 } })]).length, 1);
  assert.equal(checkGraphBank([moved, state({ in: [] })]).length, 1);
  assert.equal(checkGraphBank([done('transfer', 2), state({})]).length, 1);

  const edges = [{ id: 1, from: 'a', to: 'b' }];
  const connected = done('connect', edges[0]);
  assert.deepEqual(
    checkDeleteAgainstConnect([connected, done('final', { vertices: ['a', 'b'], edges })]),
    [],
  );
  const deleted = done('delete', null, { key: 'b' });
  const gone = done('final', { vertices: ['a'], edges: [] });
  assert.deepEqual(checkDeleteAgainstConnect([connected, deleted, gone]), []);
  const dangling = done('final', { vertices: ['a'], edges });
  assert.equal(checkDeleteAgainstConnect([connected, deleted, dangling]).length, 1);
  const lost = done('final', { vertices: ['a', 'b'], edges: [] });
  assert.equal(checkDeleteAgainstConnect([connected, lost]).length, 1);
});

const transactions = (...all: readonly (readonly ListStep[])[]): Operation[] =>
  all.map((steps, i) => ({
    process: `c${i}`,
    op: 'txn',
    value: steps,
    call: 0,
    return: 1,
    outcome: 'ok',
  }));
const classes = (history: readonly Operation[]) =>
  checkLists(history).map(({ anomaly }) => anomaly);

test('lists: the class of each cycle', () => {
  const right = transactions(
    [['append', 'x', 1]],
    [
      ['read', 'x', [1]],
      ['append', 'x', 2],
    ],
    [['read', 'x', [1, 2]]],
  );
  assert.deepEqual(classes(right), []);
  const skew = transactions(
    [
      ['read', 'x', []],
      ['append', 'y', 1],
    ],
    [
      ['read', 'y', []],
      ['append', 'x', 1],
    ],
    [
      ['read', 'x', [1]],
      ['read', 'y', [1]],
    ],
  );
  assert.deepEqual(classes(skew), ['G2'], 'write skew');
  const torn = transactions(
    [
      ['append', 'x', 1],
      ['append', 'y', 1],
    ],
    [
      ['read', 'x', [1]],
      ['read', 'y', []],
    ],
    [['read', 'y', [1]]],
  );
  assert.deepEqual(classes(torn), ['G-single'], 'half of a transaction is seen');
  const circular = transactions(
    [
      ['append', 'x', 1],
      ['read', 'y', [1]],
    ],
    [
      ['append', 'y', 1],
      ['read', 'x', [1]],
    ],
  );
  assert.deepEqual(classes(circular), ['G1c'], 'each saw the other');
  const crossed = transactions(
    [
      ['append', 'x', 1],
      ['append', 'y', 1],
    ],
    [
      ['append', 'x', 2],
      ['append', 'y', 2],
    ],
    [
      ['read', 'x', [1, 2]],
      ['read', 'y', [2, 1]],
    ],
  );
  assert.deepEqual(classes(crossed), ['G0', 'G1c'], 'writes in two orders');
});

test('lists: what a single list tells', () => {
  const forked = transactions(
    [['append', 'x', 1]],
    [['append', 'x', 2]],
    [['read', 'x', [1, 2]]],
    [['read', 'x', [2]]],
  );
  assert.ok(classes(forked).includes('incompatible order'));
  const twice = transactions([['append', 'x', 1]], [['read', 'x', [1, 1]]]);
  assert.ok(classes(twice).includes('duplicate'));
  const middle = transactions(
    [
      ['append', 'x', 1],
      ['append', 'x', 2],
    ],
    [['read', 'x', [1]]],
    [['read', 'x', [1, 2]]],
  );
  assert.ok(classes(middle).includes('intermediate read'));
  const [first, ...rest] = transactions([['append', 'x', 1]], [['read', 'x', [1]]]);
  assert.ok(
    classes([{ ...(first as Operation), outcome: 'failed' }, ...rest]).includes('aborted read'),
  );
  const [write, read] = transactions([['append', 'x', 1]], [['read', 'x', []]]) as [
    Operation,
    Operation,
  ];
  const later = { ...read, call: 5, return: 6 };
  assert.ok(classes([write, later]).includes('lost append'));
  const latest = { ...read, value: [['read', 'x', [1]]], call: 7, return: 8 };
  assert.deepEqual(classes([write, later, latest]), ['stale read']);
  assert.deepEqual(classes([write, { ...later, call: 1, return: 2 }]), [], 'they overlap');
});
