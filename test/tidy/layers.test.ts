import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aliases, declaredPackages, productionPackages, sourceFiles } from './source-tree.ts';

// The architecture as a table: a room may import rooms on lower floors only.
const floorOf: Readonly<Record<string, number>> = {
  core: 0,
  platform: 1,
  config: 1,
  raft: 1,
  storage: 2,
  security: 2,
  catalog: 3,
  index: 4,
  transaction: 5,
  query: 6,
  language: 7,
  database: 8,
  cluster: 9,
  control: 10,
  http: 11,
  resp: 11,
  backup: 11,
  websocket: 12,
  mcp: 12,
  cli: 12,
  plan: 13,
  'main.ts': 14,
  'container.ts': 14,
};

/** Languages may not import one another, except the script around its statements. */
const languageExceptions: ReadonlySet<string> = new Set(['sqlscript->sql']);

const files = sourceFiles('server');

function roomOf(path: string): string {
  return path.split('/')[1] ?? '';
}

test('every room of the server has a floor', () => {
  const unknown = files.map((file) => roomOf(file.path)).filter((room) => !(room in floorOf));
  assert.deepEqual([...new Set(unknown)], []);
});

test('every room has an alias and every alias is a room', () => {
  const rooms = new Set(
    files.map((file) => roomOf(file.path)).filter((room) => !room.endsWith('.ts')),
  );
  const aliased = [...aliases.values()]
    .filter((target) => target.startsWith('server/'))
    .map((target) => target.replace('server/', ''));
  assert.deepEqual(
    [...rooms].filter((room) => !aliased.includes(room)),
    [],
  );
});

test('a room imports lower floors only', () => {
  const violations: string[] = [];
  for (const file of files) {
    const floor = floorOf[roomOf(file.path)] ?? -1;
    for (const { path, line } of file.imports) {
      if (path === undefined) continue;
      const target = roomOf(path);
      if (!path.startsWith('server/'))
        violations.push(`${file.path}:${line} leaves the server: ${path}`);
      else if (target !== roomOf(file.path) && (floorOf[target] ?? 99) >= floor) {
        violations.push(
          `${file.path}:${line} (floor ${floor}) imports ${path} (floor ${floorOf[target]})`,
        );
      }
    }
  }
  assert.deepEqual(violations, []);
});

test('a boundary crossing is written with #, and nothing else is', () => {
  const violations: string[] = [];
  for (const file of files) {
    for (const { specifier, path, line } of file.imports) {
      if (path === undefined) continue;
      const crosses = roomOf(path) !== roomOf(file.path);
      if (crosses !== specifier.startsWith('#') && file.path !== 'server/main.ts') {
        violations.push(`${file.path}:${line} ${specifier}`);
      }
    }
  }
  assert.deepEqual(violations, []);
});

test('a language imports no other language', () => {
  const violations: string[] = [];
  for (const file of files) {
    const language = /^server\/language\/(\w+)\//.exec(file.path)?.[1];
    if (language === undefined) continue;
    for (const { path, line } of file.imports) {
      const target = /^server\/language\/(\w+)\//.exec(path ?? '')?.[1];
      if (target === undefined || target === language) continue;
      if (!languageExceptions.has(`${language}->${target}`)) {
        violations.push(`${file.path}:${line} imports ${path}`);
      }
    }
  }
  assert.deepEqual(violations, []);
});

test('operator and end-to-end tests never import the server', () => {
  const violations = sourceFiles('operator', 'e2e').flatMap((file) =>
    file.imports
      .filter(({ path }) => path?.startsWith('server/'))
      .map(({ path, line }) => `${file.path}:${line} imports ${path}`),
  );
  assert.deepEqual(violations, []);
});

test('every imported package is declared, and the server uses production ones only', () => {
  const violations: string[] = [];
  for (const file of sourceFiles('server', 'operator', 'test', 'e2e')) {
    const allowed =
      file.path.startsWith('server/') || file.path.startsWith('operator/')
        ? productionPackages
        : declaredPackages;
    for (const { specifier, path, line } of file.imports) {
      if (path !== undefined || specifier.startsWith('node:')) continue;
      const name = specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/');
      if (!allowed.has(name)) violations.push(`${file.path}:${line} ${name}`);
    }
  }
  assert.deepEqual(violations, []);
});
