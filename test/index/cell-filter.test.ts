import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CellFilter, coveringCells } from '#index/geo/cells.ts';
import { parseWkt } from '#index/geo/wkt.ts';

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const envelopeAt = (x: number, y: number, width: number, height: number) => ({
  minX: x,
  maxX: x + width,
  minY: y,
  maxY: y + height,
});

function accepts(filter: CellFilter, cell: string): boolean {
  return filter.accepts(Buffer.from(`_${cell}_`), 1, cell.length + 1);
}

test('a filter of cells takes those that an area needs and no distant ones, at every length', () => {
  const random = seeded(5);
  let refused = 0;
  for (let round = 0; round < 3_000; round += 1) {
    // Some reach over the edge of the globe.
    const [x, y] = [random() * 380 - 190, random() * 200 - 100];
    const area = envelopeAt(x, y, random() ** 4 * 40, random() ** 4 * 40);
    const filter = new CellFilter(area);
    const length = 1 + Math.floor(random() * 12);
    for (const cell of coveringCells(area, length, 16)) assert.ok(accepts(filter, cell), cell);
    const [px, py] = [random() * 360 - 180, random() * 180 - 90];
    const [cell] = coveringCells(envelopeAt(px, py, 0, 0), length, 1);
    const [columns, rows] = [2 ** Math.ceil((5 * length) / 2), 2 ** Math.floor((5 * length) / 2)];
    const [cellWidth, cellHeight] = [360 / columns, 180 / rows];
    const beyond = (at: number, low: number, high: number) => Math.max(low - at, at - high, 0);
    const far =
      beyond(px, area.minX, area.maxX) > 3 * cellWidth ||
      beyond(py, area.minY, area.maxY) > 3 * cellHeight;
    const isInside = beyond(px, area.minX, area.maxX) + beyond(py, area.minY, area.maxY) === 0;
    if (isInside) assert.ok(accepts(filter, cell as string), `${px} ${py}`);
    // What lies over the edge counts as at it.
    const isOnGlobe = area.minX >= -180 && area.maxX <= 180 && area.minY >= -90 && area.maxY <= 90;
    if (far && isOnGlobe) {
      assert.ok(!accepts(filter, cell as string), `${px} ${py}`);
      refused += 1;
    }
  }
  assert.ok(refused > 500);
});

test('a point is the same read at one go and word by word', () => {
  for (const [x, y] of [
    ['1', '2'],
    ['-12.3456', '47.5'],
    ['0.1', '-0'],
    ['180.00000000000001', '-90'],
  ])
    assert.deepEqual(parseWkt(`POINT (${x} ${y})`), parseWkt(`point(${x}  ${y})`));
  for (const none of [
    'POINT (1)',
    'POINT (1 2',
    'POINT (1 2) x',
    'POINT (1 2, 3 4)',
    'POINT (- 2)',
  ])
    assert.equal(parseWkt(none), undefined, none);
});
