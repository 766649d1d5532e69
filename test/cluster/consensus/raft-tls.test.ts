import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { WorkerConsensus } from '#cluster/worker-consensus.ts';
import { type RaftTlsFiles, readRaftTls } from '#cluster/transport/raft-tls.ts';
import { WorkerGroup } from './worker-group.ts';

// TLS of the Raft port (ha.md 4.5): files that would fail later are refused at the start, by the name of their setting.

const root = mkdtempSync(join(tmpdir(), 'polyad-raft-tls-'));
after(() => rmSync(root, { recursive: true, force: true }));

function made(name: string, usage = 'serverAuth,clientAuth', san = 'IP:127.0.0.1'): RaftTlsFiles {
  const [certificate, key] = [join(root, `${name}.crt`), join(root, `${name}.key`)];
  const extensions = [`extendedKeyUsage=${usage}`, `subjectAltName=${san}`];
  const options = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  const files = ['-keyout', key, '-out', certificate, '-subj', `/CN=${name}`];
  const added = extensions.flatMap((text) => ['-addext', text]);
  execFileSync('openssl', ['req', '-x509', ...options, ...files, ...added], { stdio: 'pipe' });
  return {
    certificates: { setting: 'certChainFile', path: certificate },
    key: { setting: 'privateKeyFile', path: key },
    trusted: { setting: 'trustCertCollectionFile', path: certificate },
    isMutual: true,
  };
}

const at = { ownHost: '127.0.0.1', nowMs: 0 };
const good = made('good');

test('files that cannot serve are refused', () => {
  const refusal = (files: Partial<RaftTlsFiles>, more = {}): string => {
    try {
      readRaftTls({ ...good, ...files }, { ...at, ...more });
    } catch (error) {
      return error instanceof Error ? error.message : '';
    }
    return 'taken';
  };
  const at1 = (path: string) => ({ setting: 'privateKeyFile', path });
  assert.equal(refusal({}), 'taken');
  assert.match(refusal({ key: at1('') }), /^privateKeyFile is empty/);
  assert.match(refusal({ key: at1('/nowhere') }), /privateKeyFile \(\/nowhere\) cannot be read/);
  const other = join(root, 'rsa.key');
  writeFileSync(other, '-----BEGIN RSA PRIVATE KEY-----\nAA==\n-----END RSA PRIVATE KEY-----\n');
  assert.match(refusal({ key: at1(other) }), /holds 'RSA PRIVATE KEY'; it must be PKCS#8/);
  writeFileSync(other, '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n');
  assert.match(refusal({ key: at1(other) }), /cannot be parsed/);
  assert.match(refusal({ key: made('second').key }), /does not belong to the certificate/);
  assert.match(refusal(made('one-way', 'serverAuth')), /lacks the extended key usage clientAuth/);
  assert.match(refusal(made('dialer', 'clientAuth')), /lacks the extended key usage serverAuth/);
  assert.match(refusal({}, { ownHost: 'db-0.db' }), /no subject alternative name for 'db-0.db'/);
  assert.match(refusal({}, { nowMs: 1e14 }), /expired on/);
});

test('a key that others can read and a port that asks nobody for a certificate are warned of, and serve', () => {
  const warnings = (files: Partial<RaftTlsFiles>) =>
    readRaftTls({ ...good, ...files }, at).warnings;
  chmodSync(good.key.path, 0o600);
  assert.deepEqual(warnings({}), []);
  for (const mode of [0o640, 0o604, 0o644]) {
    chmodSync(good.key.path, mode);
    assert.match(
      warnings({}).join('\n'),
      /good\.key can be read by others; its mode should be 600/,
    );
  }
  chmodSync(good.key.path, 0o600);
  const [warning, ...more] = warnings({ isMutual: false });
  assert.match(warning ?? '', /service\.ha\.tls\.mutualAuth=false/);
  assert.deepEqual(more, []);
  const without = { ...good, isMutual: false, trusted: { ...good.trusted, path: '' } };
  assert.throws(() => readRaftTls(without, at), /trustCertCollectionFile is empty/);
});

test('members with certificates form a group; neither plain text nor a foreign certificate gets in', async () => {
  const tlsOf = (files: RaftTlsFiles) => readRaftTls(files, at).tls;
  const own = tlsOf(good);
  const foreign = tlsOf(made('foreign'));
  const group = await WorkerGroup.start(2, () => own);
  const strangers: WorkerConsensus[] = [];
  try {
    await group.leader();
    for (const tls of [undefined, foreign]) {
      const directory = join(root, tls === undefined ? 'plain' : 'foreign');
      const options = { ...group.options(0, 2), tls, directory, listenPort: 0 };
      const self = '127.0.0.1_9';
      strangers.push(await WorkerConsensus.start({ ...options, self }, { log: () => {} }));
    }
    for (let i = 0; i < 20; i++) await group.write(`write ${i}`);
    for (const stranger of strangers) assert.equal(stranger.status().clusterId, undefined);
  } finally {
    await Promise.all(strangers.map((stranger) => stranger.close(0)));
    await group.close();
  }
});

test('certificates are replaced one member after the other while writes go on', async () => {
  const next = made('next');
  const both = join(root, 'both.crt');
  const trusted = { setting: 'trustCertCollectionFile', path: both };
  writeFileSync(
    both,
    [good, next].map(({ trusted: { path } }) => readFileSync(path, 'utf8')).join(''),
  );
  const tlsOf = (files: RaftTlsFiles, trust = trusted) =>
    readRaftTls({ ...files, trusted: trust }, at).tls;
  const group = await WorkerGroup.start(3, () => tlsOf(good));
  try {
    await group.leader();
    const steps = [tlsOf(next), tlsOf(next, next.trusted)];
    for (const tls of steps)
      for (const { consensus } of group.members.values()) {
        consensus.useTls(tls);
        for (let i = 0; i < 3; i += 1) await group.write(`write ${i}`);
      }
  } finally {
    await group.close();
  }
});
