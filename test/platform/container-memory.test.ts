import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  heapOptions,
  isHeapPinned,
  oldSpaceMiB,
  parseHeapPercent,
  withMemoryVariables,
} from '#platform/container-memory.ts';

const MiB = 1024 * 1024;

describe('heap of a container', () => {
  it('is three quarters of the limit less what the storage is budgeted', () => {
    assert.equal(oldSpaceMiB(2048 * MiB), 1536 - 128);
    assert.equal(oldSpaceMiB(512 * MiB), 384 - 128);
    assert.equal(oldSpaceMiB(2048 * MiB, 50), 1024 - 128);
  });

  it('leaves a small container a heap to start with', () => {
    assert.equal(oldSpaceMiB(256 * MiB), 96);
    assert.equal(oldSpaceMiB(128 * MiB), 48);
    assert.equal(oldSpaceMiB(128 * MiB, 20), 25);
    assert.equal(oldSpaceMiB(16 * MiB, 10), 16);
  });

  it('has a young generation that fits in too', () => {
    const of = (limitMiB: number, cores = 4) => heapOptions(limitMiB * MiB, 75, cores).join(' ');
    assert.equal(of(64), '--max-old-space-size=24 --max-semi-space-size=2');
    assert.equal(of(512), '--max-old-space-size=256 --max-semi-space-size=8');
    assert.equal(of(1024), '--max-old-space-size=640 --max-semi-space-size=16');
    assert.equal(of(2048), '--max-old-space-size=1408');
    assert.equal(of(64, 2), '--max-old-space-size=24 --max-semi-space-size=2');
    assert.equal(of(1024, 2), '--max-old-space-size=640 --max-semi-space-size=4');
  });

  it('is left to whoever chose one', () => {
    for (const options of [
      '--max-old-space-size=300',
      '--max_old_space_size=300',
      '--max-old-space-size-percentage=60',
      '--max-heap-size=700',
    ]) {
      assert.equal(isHeapPinned(`--trace-warnings ${options}`, []), true, options);
      assert.equal(isHeapPinned('', [options]), true, options);
    }
    assert.equal(isHeapPinned('--max-semi-space-size=2', ['--expose-gc']), false);
  });

  it('takes a whole percentage from 10 to 90', () => {
    assert.equal(parseHeapPercent(undefined), 75);
    assert.equal(parseHeapPercent(''), 75);
    assert.equal(parseHeapPercent('10'), 10);
    assert.equal(parseHeapPercent('90'), 90);
    for (const wrong of ['9', '91', '7.5', '75%', 'all', '-50', '075'])
      assert.equal(parseHeapPercent(wrong), undefined, wrong);
  });
});

describe('the C library of a server', () => {
  it('gives memory back, unless somebody chose otherwise', () => {
    const { MALLOC_ARENA_MAX, ...others } = withMemoryVariables({ MALLOC_ARENA_MAX: '8', A: 'b' });
    assert.equal(MALLOC_ARENA_MAX, '8');
    assert.deepEqual(others, {
      MALLOC_MMAP_THRESHOLD_: '131072',
      MALLOC_TRIM_THRESHOLD_: '1048576',
      A: 'b',
    });
  });
});
