import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { rootDirectory } from './source-tree.ts';

interface Locked {
  readonly engines?: { readonly node?: string };
}

// `npm install` runs on the Node that is there, which is 20 or later; the packaged one comes with it.
test('every package may be installed with Node 20', () => {
  const lock = JSON.parse(readFileSync(join(rootDirectory, 'package-lock.json'), 'utf8'));
  const packages: Readonly<Record<string, Locked>> = lock.packages;
  const newer = Object.entries(packages).filter(([, { engines }]) => {
    const least = /^>=\s*v?(\d+)(?:\.(\d+))?/.exec(engines?.node ?? '');
    const [, major = 0, minor = 0] = least ?? [];
    return Number(major) > 20 || (Number(major) === 20 && Number(minor) > 19);
  });
  assert.deepEqual(newer, []);
});
