import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { engineSteps, runOnEngines, runOnStores, storeSteps } from '../memory/scripts.ts';

// What stands in the place of LMDB in simulations is compared with it, by a thousand random scripts.

test('six hundred scripts read the same on stores in memory and on those of LMDB', async (context) => {
  const directory = emptied(context);
  const run = fc.asyncProperty(storeSteps, (steps) => runOnStores(directory(), steps));
  await fc.assert(run, { numRuns: 600 });
});

test('four hundred scripts read the same on an engine above memory and on one above LMDB', async (context) => {
  const directory = emptied(context);
  const run = fc.asyncProperty(engineSteps, (steps) => runOnEngines(directory(), steps));
  await fc.assert(run, { numRuns: 400 });
});

/** Nothing here hangs on when a disk has something. */
const root = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** An empty directory each time; the one before goes. */
function emptied(context: TestContext): () => string {
  let last = '';
  const remove = () => {
    if (last !== '') rmSync(last, { recursive: true, force: true });
  };
  context.after(remove);
  return () => {
    remove();
    last = mkdtempSync(join(root, 'polyad.storage-'));
    return last;
  };
}
