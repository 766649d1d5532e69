import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withinTurn } from '#core/turn-end.ts';
import { rowsPerLook, rowsPerTurn, WorkShare } from '#query/operators/hold/work-share.ts';

const over = { isOver: () => true };
const young = { isOver: () => false };

function unitsUntilSpent(share: WorkShare): number {
  for (let units = 1; ; units += 1) if (share.isSpent()) return units;
}

test('a statement that does little has no pause, however often it ran and however late it is', () => {
  const share = new WorkShare(rowsPerTurn, rowsPerLook);
  for (let statement = 0; statement < 1_000; statement += 1) {
    share.open();
    for (let unit = 1; unit < rowsPerLook; unit += 1)
      assert.equal(
        withinTurn(over, () => share.isSpent()),
        false,
        `statement ${statement}`,
      );
  }
});

test('who does much pauses after the units of a turn, or at the first look behind its end', () => {
  const share = new WorkShare(rowsPerTurn, rowsPerLook);
  share.open();
  assert.equal(
    withinTurn(young, () => unitsUntilSpent(share)),
    rowsPerTurn,
  );
  assert.equal(
    withinTurn(over, () => unitsUntilSpent(share)),
    rowsPerLook,
  );
  assert.equal(unitsUntilSpent(share), rowsPerTurn);
});
