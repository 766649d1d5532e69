import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { rootDirectory } from './source-tree.ts';

const readme = readFileSync(join(rootDirectory, 'README.md'), 'utf8');

test('what "How to change it" names is there', () => {
  const section = /\n## How to change it\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? '';
  const kinds = [...section.matchAll(/^\| (a [^|]+?) \|/gm)].map(([, kind]) => kind);
  for (const needed of [
    'SQL function',
    'SQL statement',
    'route',
    'kind of index',
    'language',
    'setting',
  ])
    assert.ok(kinds.includes(`a ${needed}`), `the section says how to add a ${needed}`);
  const paths = [...section.matchAll(/`((?:server|test)\/[^`]+)`/g)].map(([, path]) => path ?? '');
  assert.ok(paths.length > kinds.length);
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(rootDirectory, path))),
    [],
  );
});
