import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Ledger, treeOf } from './simulation/ledger.ts';

test('a ledger of simulated days counts each seed of a tree once and goes on behind the last one', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'));
  try {
    const ledger = new Ledger(join(directory, 'ledger.jsonl'));
    const at = '2026-11-24T00:00:00.000Z';
    assert.deepEqual([ledger.next(), ledger.sum()], [1, { seeds: 0, days: 0, failed: 0 }]);
    ledger.enter({ at, tree: 'a', from: 1, seeds: 100, days: 2, failed: [7] });
    ledger.enter({ at, tree: 'a', from: 51, seeds: 100, days: 2, failed: [] });
    ledger.enter({ at, tree: 'a', from: 11, seeds: 10, days: 0.2, failed: [] });
    ledger.enter({ at, tree: 'b', from: 1, seeds: 100, days: 2, failed: [7, 8] });
    assert.equal(ledger.next(), 151);
    assert.deepEqual(ledger.sum('a'), { seeds: 150, days: 3, failed: 1 });
    assert.deepEqual(ledger.sum(), { seeds: 250, days: 5, failed: 3 });
    assert.match(treeOf(join(import.meta.dirname, '../..')), /^[0-9a-f]{12}$/u);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
