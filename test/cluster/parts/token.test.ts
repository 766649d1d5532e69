import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ClusterToken, openClusterToken, watchTokenFile } from '#cluster/token/cluster-token.ts';
import { readRights, signRights } from '#cluster/token/forwarded-rights.ts';
import { Settings } from '#config/effective-settings.ts';

// The secret between servers (contract 3, Authentication 2; ha.md 4.6).

const derivation = {
  derive: async (password: string, salt: Uint8Array, iterations: number) =>
    pbkdf2Sync(password, salt, iterations, 32, 'sha256'),
  close: async () => {},
};

async function open(texts: Record<string, string>, environment: Record<string, string> = {}) {
  const warnings: string[] = [];
  const token = await openClusterToken(new Settings(new Map(Object.entries(texts))), {
    environment,
    derivation,
    warn: (text) => warnings.push(text),
  });
  return { token, warnings };
}

test('without a token it is made of cluster name and root password', async () => {
  const { token } = await open({ 'ha.clusterName': 'blue', 'server.rootPassword': 'secret-word' });
  const expected = pbkdf2Sync(
    'blue:secret-word',
    'service-cluster-token:blue',
    100_000,
    32,
    'sha256',
  );
  assert.equal(token.value, expected.toString('hex'));
  assert.equal(token.source, 'derived');
  const other = await open({ 'ha.clusterName': 'red', 'server.rootPassword': 'secret-word' });
  assert.equal(other.token.accepts(token.value), false);
});

test('setting before environment before file; a short one is warned of', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-token-'));
  try {
    const path = join(directory, 'token');
    writeFileSync(path, '  the-token-of-the-file\nanother-old-token-here \n\n');
    const ofFile = { 'ha.clusterTokenPath': path };
    const environment = { HA_CLUSTER_TOKEN: 'the-token-of-the-environment' };
    assert.equal(
      (await open({ ...ofFile, 'ha.clusterToken': 'short' }, environment)).token.value,
      'short',
    );
    assert.equal((await open({ 'ha.clusterToken': 'short' })).warnings.length, 1);
    assert.equal((await open(ofFile, environment)).token.value, environment.HA_CLUSTER_TOKEN);
    const { token } = await open(ofFile);
    assert.equal(token.value, 'the-token-of-the-file');
    assert.equal(
      token.accepts('another-old-token-here'),
      true,
      'each line of the file is accepted',
    );
    let look: () => void = () => {};
    const timers = {
      after: (_: number, run: () => void) => {
        look = run;
        return () => {};
      },
      sleep: async () => {},
      yield: async () => {},
    };
    const settings = new Settings(new Map(Object.entries(ofFile)));
    watchTokenFile(token, settings, { timers, everyMs: 1 });
    writeFileSync(path, 'the-next-token-of-the-file\nthe-token-of-the-file\n');
    look();
    assert.equal(token.value, 'the-next-token-of-the-file');
    assert.deepEqual(
      [token.accepts('the-token-of-the-file'), token.accepts('another-old-token-here')],
      [true, false],
    );
    rmSync(path);
    look();
    assert.equal(token.value, 'the-next-token-of-the-file', 'a file that is gone changes nothing');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('what no token can be made of is told by the name of the setting', async () => {
  await assert.rejects(open({}), /clusterToken.*HA_CLUSTER_TOKEN.*clusterTokenPath.*rootPassword/);
  await assert.rejects(
    open({ 'ha.clusterTokenPath': '/nowhere/token' }),
    /clusterTokenPath.*ENOENT/,
  );
  await assert.rejects(open({ 'ha.clusterToken': 'with blank' }), /printable ASCII/);
});

test('signed rights hold with a token of the cluster only', () => {
  const rights = {
    principal: 'apitoken:x',
    database: 'school',
    permissions: { types: {}, database: [] },
  };
  const signed = signRights(rights, 'one');
  assert.deepEqual(readRights(signed, 'one'), rights);
  assert.equal(readRights(signed, 'two'), undefined);
  const forged = `${Buffer.from(JSON.stringify({ ...rights, database: '*' })).toString('base64url')}.${signed.split('.')[1]}`;
  assert.equal(readRights(forged, 'one'), undefined);
  for (const text of ['', '.', 'x.y', signed.slice(0, -2)])
    assert.equal(readRights(text, 'one'), undefined);
  assert.deepEqual(new ClusterToken(['new', 'one']).read(signed), rights, 'of an older line, too');
});
