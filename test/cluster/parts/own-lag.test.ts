import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OwnLag, type OwnPosition } from '#cluster/status/own-lag.ts';

function member(changes: { lagMax?: number; standstillMs?: number } = {}) {
  const lag = new OwnLag({
    lagMax: () => changes.lagMax ?? 100,
    standstillMs: () => changes.standstillMs ?? 60_000,
    gapMax: () => 10,
    gapMs: () => 30_000,
  });
  return (position: Partial<OwnPosition>, atS: number) =>
    lag.look(
      {
        isLeader: false,
        hasLeader: true,
        commitIndex: 1000,
        appliedIndex: 500,
        firstIndex: 1,
        isInstalling: false,
        ...position,
      },
      atS * 1000,
    );
}

test('a follower that is far behind and does not come nearer fetches its databases, once a standstill', () => {
  const look = member();
  assert.equal(look({}, 0), undefined);
  assert.equal(look({ commitIndex: 1100 }, 59), undefined);
  assert.match(look({ commitIndex: 1100 }, 60) ?? '', /600 entries behind/);
  assert.equal(look({}, 61), undefined);
  assert.match(look({}, 121) ?? '', /500 entries behind/);
});

test('a follower that comes nearer, has no leader, leads, or fetches already is left alone', () => {
  const look = member();
  look({}, 0);
  assert.equal(look({ appliedIndex: 501 }, 59), undefined);
  assert.equal(look({ appliedIndex: 501 }, 100), undefined, 'its standstill began at 59');
  for (const position of [{ hasLeader: false }, { isLeader: true }, { isInstalling: true }]) {
    assert.equal(look(position, 200), undefined);
    assert.equal(look({}, 201), undefined, 'it begins anew');
  }
  assert.equal(member()({ appliedIndex: 901 }, 1e6), undefined);
  for (const off of [{ lagMax: 0 }, { standstillMs: 0 }]) {
    const never = member(off);
    never({}, 0);
    assert.equal(never({}, 1e6), undefined);
  }
});

test('a follower whose log begins behind its databases waits a while, and fetches them', () => {
  const look = member({ lagMax: 0 });
  assert.equal(look({ firstIndex: 511 }, 0), undefined);
  assert.equal(look({ firstIndex: 511 }, 40), undefined, 'ten entries are nothing');
  assert.equal(look({ firstIndex: 512 }, 41), undefined);
  assert.match(look({ firstIndex: 512 }, 71) ?? '', /begins 11 entries behind/);
});
