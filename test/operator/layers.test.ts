import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { sourceFiles } from '#test/tidy/source-tree.ts';

// Floors of the operator (architecture.md 3): a room imports lower floors only. `pod` and `guard` stand alone: they are loaded
// in pods of members.

const floorOf: Readonly<Record<string, number>> = {
  pod: -1,
  guard: 0,
  api: 1,
  chart: 3,
  resources: 2,
  kubernetes: 2,
  reconcile: 3,
  observe: 3,
  plugin: 4,
  act: 4,
};

/** `reconcile` decides; whoever decides may not be able to call. */
const forbidden = new Set(['reconcile->kubernetes', 'resources->kubernetes', 'act->guard']);

/** Loaded in every member's pod. */
const lonely = new Set(['pod', 'guard']);

function roomOf(path: string): string {
  const [, room = '', file] = path.split('/');
  return file === undefined ? 'main' : room;
}

test('a room of the operator imports lower floors only', () => {
  const violations: string[] = [];
  for (const file of sourceFiles('operator')) {
    const from = roomOf(file.path);
    for (const { path, line } of file.imports) {
      if (path === undefined || !path.startsWith('operator/')) continue;
      const to = roomOf(path);
      const isLower = from === to || (floorOf[to] ?? 9) < (floorOf[from] ?? 9);
      if (!isLower || forbidden.has(`${from}->${to}`))
        violations.push(`${file.path}:${line} imports ${path}`);
    }
  }
  assert.deepEqual(violations, []);
});

test('commands of pods load nothing but Node, and only one file knows the client library', () => {
  const violations: string[] = [];
  for (const file of sourceFiles('operator')) {
    for (const { specifier, path, line } of file.imports) {
      const isBare = !specifier.startsWith('.') && !specifier.startsWith('node:');
      const isOwn = path !== undefined && lonely.has(roomOf(path));
      if (lonely.has(roomOf(file.path)) && !specifier.startsWith('node:') && !isOwn)
        violations.push(`${file.path}:${line} imports ${specifier}`);
      if (isBare && specifier.startsWith('@kubernetes/') && !file.path.endsWith('/credentials.ts'))
        violations.push(`${file.path}:${line} imports ${specifier}`);
    }
  }
  assert.deepEqual(violations, []);
});

test('the inner files of the client library that are loaded are those of the pinned version', async () => {
  const pinned = createRequire(import.meta.url)('../../package.json') as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  // Another version may have other files: look at operator/kubernetes/credentials.ts when this number changes.
  assert.equal(pinned.dependencies['@kubernetes/client-node'], '2.0.1');
  const { ExecAuth } = await import('@kubernetes/client-node/dist/exec_auth.js');
  const { FileAuth } = await import('@kubernetes/client-node/dist/file_auth.js');
  const config = await import('@kubernetes/client-node/dist/config_types.js');
  for (const auth of [new ExecAuth(), new FileAuth()])
    assert.equal(typeof auth.applyAuthentication, 'function');
  for (const part of [config.newClusters, config.newUsers, config.newContexts])
    assert.equal(typeof part, 'function');
  assert.equal(config.ActionOnInvalid.THROW, 'throw');
});
