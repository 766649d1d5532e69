import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesBelow, foldersIn, rootDirectory, sourceFiles } from './source-tree.ts';

const fileLinesMax = 600;

const sources = sourceFiles('server', 'operator');
const everything = sourceFiles('server', 'operator', 'test', 'e2e');

test('no source file is longer than 600 lines', () => {
  const long = sources.filter((file) => file.lines.length > fileLinesMax + 1);
  assert.deepEqual(
    long.map((file) => `${file.path} (${file.lines.length})`),
    [],
  );
});

test('every room has a README', () => {
  const problems: string[] = [];
  for (const room of [
    ...foldersIn('server'),
    ...(existsSync(join(rootDirectory, 'operator')) ? ['operator'] : []),
  ]) {
    const path = join(rootDirectory, room, 'README.md');
    if (!existsSync(path)) problems.push(`${room}: no README.md`);
  }
  assert.deepEqual(problems, []);
});

test('file names are kebab-case', () => {
  const odd = everything.filter(
    (file) => !/^[a-z0-9-]+(\.test)?\.ts$/.test(file.path.split('/').at(-1) ?? ''),
  );
  assert.deepEqual(
    odd.map((file) => file.path),
    [],
  );
});

test('there is no room for things without a name', () => {
  const vague = /(^|\/)(utils?|helpers?|common|types|misc|shared|index)(\.ts|\/)/;
  const found = sources
    .map((file) => file.path)
    .filter((path) => vague.test(path) && !path.startsWith('server/index/'));
  assert.deepEqual(found, []);
});

test('every source file is imported by another one or is an entry point', () => {
  const entryPoints = new Set([
    'server/main.ts',
    'server/cluster/replication/replication.ts',
    'server/container.ts',
    'server/cli/cli.ts',
    'server/storage/environment/check-process.ts',
    'server/storage/parts/load-process.ts',
    'server/storage/parts/send-process.ts',
    'operator/main.ts',
  ]);
  const imported = new Set(everything.flatMap((file) => file.imports.map(({ path }) => path)));
  const scripts = readFileSync(join(rootDirectory, 'package.json'), 'utf8');
  const dead = sources
    .map((file) => file.path)
    .filter((path) => !entryPoints.has(path) && !imported.has(path) && !scripts.includes(path));
  assert.deepEqual(dead, []);
});

test('every golden file is run by a test', () => {
  const texts = sourceFiles('test').map((file) => file.text);
  const orphans = filesBelow('test', '.txt').filter((path) => {
    const name = path.split('/').at(-1) ?? '';
    const folder = path.split('/').slice(0, -1).join('/');
    const runsFolder = sourceFiles(folder).some((file) =>
      /readdirSync|runGoldenFolder/.test(file.text),
    );
    const above = folder.split('/').slice(0, -1).join('/');
    const runsFoldersBelow = sourceFiles(above).some(
      (file) => file.path.lastIndexOf('/') === above.length && file.text.includes('globSync'),
    );
    const isRun = runsFolder || runsFoldersBelow || texts.some((text) => text.includes(name));
    return !isRun;
  });
  assert.deepEqual(orphans, []);
});
