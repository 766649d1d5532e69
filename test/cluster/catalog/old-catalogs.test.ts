import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { emptyCatalog } from '#cluster/catalog/catalog-document.ts';
import { keepOldCatalog, oldCatalogsMax } from '#cluster/catalog/old-catalogs.ts';

test('the newest old catalogs stay, nothing else is touched', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-catalogs-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'catalog.json'), '{}');
  const names: string[] = [];
  for (let group = 0; group < oldCatalogsMax + 4; group += 1) {
    const document = { ...emptyCatalog, group: `g${group}`, applied: 7 };
    const name = await keepOldCatalog(directory, document);
    utimesSync(join(directory, name), group, group);
    names.push(name);
  }
  assert.deepEqual(
    readdirSync(directory).sort(),
    ['catalog.json', ...names.slice(-oldCatalogsMax)].sort(),
  );
});
