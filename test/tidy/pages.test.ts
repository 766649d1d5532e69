import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { filesBelow, rootDirectory } from './source-tree.ts';

/*
 * A README of a room is a page that a stranger reads before the code: short, without history, and every file that it names is
 * there. Why things are as they are stands in DECISIONS.md, dated.
 */

const linesMax = 60;
const charactersMax = 100;
const namedFile = /`(#?[\w./-]+\.(?:ts|mjs|sh|txt))`/g;

const pages = ['bin', 'server', 'operator', 'e2e', 'test', 'chart', 'assets'].flatMap((folder) =>
  filesBelow(folder, '.md').map((path) => ({
    path,
    lines: readFileSync(join(rootDirectory, path), 'utf8').trimEnd().split('\n'),
  })),
);
const readmes = pages.filter(({ path }) => path.endsWith('/README.md'));
const decisions = pages.filter(({ path }) => path.endsWith('/DECISIONS.md'));

test('a README is a page of short lines', () => {
  const problems = readmes.flatMap(({ path, lines }) => [
    ...(lines.length > linesMax ? [`${path}: ${lines.length} lines`] : []),
    ...lines.flatMap((line, index) =>
      line.length > charactersMax ? [`${path}:${index + 1}: ${line.length} characters`] : [],
    ),
  ]);
  assert.deepEqual(problems, []);
});

test('decisions stand in DECISIONS.md, each with its date', () => {
  const undated = decisions.flatMap(({ path, lines }) =>
    lines
      .filter((line) => line.startsWith('## ') && !/\d{4}-\d\d-\d\d/.test(line))
      .map((line) => `${path}: ${line}`),
  );
  const misplaced = readmes
    .filter(({ lines }) => lines.some((line) => /^(#+ )?Decisions$/.test(line)))
    .map(({ path }) => path);
  assert.deepEqual([...undated, ...misplaced], []);
});

test('every file that a README or a decision names is there', () => {
  const absent = [...readmes, ...decisions].flatMap(({ path, lines }) =>
    [...lines.join('\n').matchAll(namedFile)]
      .map(([, name = '']) => name.replace(/^#/, 'server/'))
      .filter(
        (name) =>
          ![join(dirname(path), name), join('server', name), name].some((candidate) =>
            existsSync(join(rootDirectory, candidate)),
          ),
      )
      .map((name) => `${path}: ${name}`),
  );
  assert.deepEqual(absent, []);
});
