import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeAuthority, makeLeaf } from '../../operator/act/x509.ts';
import { conditionOf } from '../../operator/api/conditions.ts';
import type { KubernetesObject } from '../../operator/api/kubernetes-object.ts';
import { certificatesIn } from '../../operator/resources/certificates.ts';
import type { StoredObject } from './sim/simulated-api.ts';
import { namespace, SimulatedWorld } from './sim/simulated-world.ts';

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 10, 22);

describe('a certificate', async () => {
  const authority = await makeAuthority('orders-ca', 3650, nowMs);
  const issuePem = async (notAfterMs: number, dnsNames: readonly string[] = ['localhost']) =>
    (
      await makeLeaf(
        { commonName: 'orders-peers', dnsNames, notAfterMs },
        { commonName: 'orders-ca', key: authority.key },
        nowMs,
      )
    ).certificate;
  const issue = async (...given: Parameters<typeof issuePem>) =>
    new X509Certificate(await issuePem(...given));

  it('is signed by its authority, and by no other', async () => {
    const leaf = await issue(nowMs + dayMs);
    const signer = new X509Certificate(authority.certificate);
    assert.equal(leaf.verify(signer.publicKey), true);
    assert.equal(leaf.checkIssued(signer), true);
    assert.equal(signer.ca, true);
    assert.equal(leaf.ca, false);
    const stranger = new X509Certificate((await makeAuthority('orders-ca', 1, nowMs)).certificate);
    assert.equal(leaf.verify(stranger.publicKey), false);
  });

  it('holds its names, however many', async () => {
    const names = Array.from({ length: 300 }, (_, at) => `member-${at}.example.org`);
    const leaf = await issue(nowMs + dayMs, ['*.orders.shop.svc', ...names]);
    for (const name of ['orders-12.orders.shop.svc', 'member-299.example.org'])
      assert.notEqual(leaf.checkHost(name), undefined, name);
    assert.equal(leaf.checkHost('a.b.orders.shop.svc'), undefined);
    assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  });

  it('ends when it is told to, after 2050 too', async () => {
    for (const end of [
      nowMs + dayMs,
      Date.UTC(2049, 11, 31),
      Date.UTC(2050, 0, 1),
      Date.UTC(2090, 5, 1),
    ])
      assert.equal((await issue(end)).validToDate.getTime(), end);
    assert.equal((await issue(nowMs + dayMs)).validFromDate.getTime(), nowMs - 300_000);
  });

  it('has a positive serial of its own', async () => {
    const issued = await Promise.all(Array.from({ length: 50 }, () => issue(nowMs + dayMs)));
    const serials = issued.map(({ serialNumber }) => serialNumber);
    assert.equal(new Set(serials).size, 50);
    for (const serial of serials) assert.match(serial, /^[4-7][0-9A-F]{31}$/);
  });

  it('is what OpenSSL takes, to the letter', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'polyad-certificates-'));
    try {
      const [trusted, leaf] = [join(folder, 'ca.crt'), join(folder, 'tls.crt')];
      writeFileSync(trusted, authority.certificate);
      const names = ['*.orders.shop.svc.cluster.local', 'localhost'];
      writeFileSync(leaf, await issuePem(nowMs + dayMs, names));
      const openssl = (...words: readonly string[]) =>
        execFileSync('openssl', words, { encoding: 'utf8', stdio: 'pipe' });
      const at = ['-attime', String(nowMs / 1000)];
      for (const purpose of ['sslserver', 'sslclient'])
        assert.match(
          openssl('verify', '-x509_strict', ...at, '-purpose', purpose, '-CAfile', trusted, leaf),
          /: OK/,
        );
      const text = openssl('x509', '-noout', '-text', '-in', leaf);
      assert.match(text, /ecdsa-with-SHA256/);
      assert.match(text, /Basic Constraints: critical\s+CA:FALSE/);
      assert.match(text, /Key Usage: critical\s+Digital Signature\n/);
      assert.match(text, /DNS:\*\.orders\.shop\.svc\.cluster\.local, DNS:localhost/);
      const ofAuthority = openssl('x509', '-noout', '-text', '-in', trusted);
      assert.match(ofAuthority, /Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
      assert.match(ofAuthority, /Key Usage: critical\s+Certificate Sign, CRL Sign/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

const textOf = (world: SimulatedWorld, secret: string, key: string): string =>
  Buffer.from(world.api.find('Secret', secret)?.data?.[key] ?? '', 'base64').toString('utf8');

function putSecret(
  world: SimulatedWorld,
  name: string,
  data: Readonly<Record<string, string>>,
): void {
  world.api.put({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    data: Object.fromEntries(
      Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    ),
  } as KubernetesObject);
}

const https = { tls: { http: { enabled: true } } };

describe('HTTPS of a Cluster', () => {
  it('is served with a certificate that the operator made', async () => {
    const world = new SimulatedWorld();
    world.create('orders', { tls: { http: { enabled: true }, extraDnsNames: ['db.example'] } });
    await world.settle();
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
    assert.equal(world.condition('CertificatesValid'), 'True Valid');
    const leaf = new X509Certificate(textOf(world, 'orders-tls', 'tls.crt'));
    const authority = new X509Certificate(textOf(world, 'orders-tls', 'ca.crt'));
    assert.equal(leaf.verify(authority.publicKey), true);
    for (const name of ['orders-http.shop.svc.cluster.local', 'orders-http', 'db.example'])
      assert.notEqual(leaf.checkHost(name), undefined, name);
    const { certificates, secrets } = world.cluster().status ?? {};
    assert.deepEqual(
      certificates?.map(({ name, serial }) => [name, serial === leaf.serialNumber]),
      [
        ['authority', false],
        ['served', true],
      ],
    );
    assert.deepEqual([secrets?.ca, secrets?.tls], ['orders-ca', 'orders-tls']);
    const set = JSON.stringify(world.api.find('StatefulSet', 'orders'));
    assert.match(set, /"SERVICE_SSL_KEY_STORE","value":"\/etc\/polyad\/tls"/);
    assert.match(set, /"containerPort":2490/);
    assert.match(JSON.stringify(world.api.find('Service', 'orders-http')), /"port":2490/);
    assert.equal(JSON.stringify(world.cluster().status).includes('PRIVATE'), false);
  });

  it('is renewed in time, without a restart and with the same authority', async () => {
    const world = new SimulatedWorld();
    world.create('orders', https);
    await world.settle();
    const uid = world.api.find('Pod', 'orders-0')?.metadata.uid;
    const before = [textOf(world, 'orders-tls', 'tls.crt'), textOf(world, 'orders-ca', 'tls.crt')];
    world.runtime.skip(59 * dayMs);
    await world.settle();
    assert.equal(textOf(world, 'orders-tls', 'tls.crt'), before[0]);
    world.runtime.skip(2 * dayMs);
    await world.settle();
    assert.notEqual(textOf(world, 'orders-tls', 'tls.crt'), before[0]);
    assert.equal(textOf(world, 'orders-ca', 'tls.crt'), before[1]);
    assert.equal(world.api.find('Pod', 'orders-0')?.metadata.uid, uid);
  });

  it('gets a certificate for names that were added', async () => {
    const world = new SimulatedWorld();
    world.create('orders', https);
    await world.settle();
    world.api.change('Cluster', 'orders', { spec: { tls: { extraDnsNames: ['db.example'] } } });
    await world.settle();
    const leaf = new X509Certificate(textOf(world, 'orders-tls', 'tls.crt'));
    assert.notEqual(leaf.checkHost('db.example'), undefined);
  });
});

describe('TLS between members', () => {
  const between = { replicas: 3, tls: { raft: { enabled: true } } };

  it('is there from the first start without being asked for, with one certificate that speaks for each', async () => {
    const world = new SimulatedWorld();
    world.api.put({
      apiVersion: 'polyad.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'orders', namespace: 'shop' },
    });
    await world.settle();
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
    assert.equal(world.condition('CertificatesValid'), 'True Valid');
    const leaf = new X509Certificate(textOf(world, 'orders-tls', 'tls.crt'));
    for (const ordinal of [0, 1, 2, 12])
      assert.notEqual(leaf.checkHost(`orders-${ordinal}.orders.shop.svc.cluster.local`), undefined);
    assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    assert.equal(world.api.all('Pod').length, 3);
  });

  it('is renewed without a restart', async () => {
    const world = new SimulatedWorld();
    world.create('orders', between);
    await world.settle();
    const uids = () => world.api.all('Pod').map(({ metadata }) => metadata.uid);
    const [pods, leaf] = [uids(), textOf(world, 'orders-tls', 'tls.crt')];
    world.runtime.skip(61 * dayMs);
    await world.settle();
    assert.notEqual(textOf(world, 'orders-tls', 'tls.crt'), leaf);
    assert.deepEqual(uids(), pods);
  });

  it('has another authority in three steps, the next when every member has the last one', async () => {
    const world = new SimulatedWorld();
    world.create('orders', between);
    await world.settle();
    const uids = () => world.api.all('Pod').map(({ metadata }) => metadata.uid);
    const leafOf = () => textOf(world, 'orders-tls', 'tls.crt');
    const trusted = () => certificatesIn(textOf(world, 'orders-tls', 'ca.crt'));
    const authorityOf = () => textOf(world, 'orders-ca', 'tls.crt').trim();
    const [pods, leaf, old] = [uids(), leafOf(), authorityOf()];
    world.api.remove(world.api.find('Secret', 'orders-ca') as StoredObject);
    await world.settle();
    assert.notEqual(authorityOf(), old);
    assert.deepEqual([leafOf(), trusted()], [leaf, [authorityOf(), old]]);
    assert.equal(world.condition('CertificatesValid'), 'True Valid');
    // A member that does not answer may not know the new authority yet.
    const conditions = [{ type: 'Ready', status: 'False' }];
    world.api.change('Pod', 'orders-2', { status: { conditions } });
    world.runtime.skip(181_000);
    await world.look();
    assert.equal(leafOf(), leaf);
    await world.settle();
    assert.equal(
      new X509Certificate(leafOf()).verify(new X509Certificate(authorityOf()).publicKey),
      true,
    );
    assert.deepEqual(trusted(), [authorityOf(), old]);
    world.runtime.skip(181_000);
    await world.settle();
    assert.deepEqual(trusted(), [authorityOf()]);
    assert.deepEqual(uids(), pods);
  });
});

describe('TLS between members with a Secret of the user', () => {
  it('waits for a Secret of the user that members can start with', async () => {
    const world = new SimulatedWorld();
    const now = world.runtime.clock.now();
    const authority = await makeAuthority('mine', 30, now);
    const leafFor = (dnsNames: readonly string[]) =>
      makeLeaf(
        { commonName: 'peers', dnsNames, notAfterMs: now + dayMs },
        { commonName: 'mine', key: authority.key },
        now,
      );
    const put = (data: Readonly<Record<string, string>>) => putSecret(world, 'mine', data);
    const host = '.orders.shop.svc.cluster.local';
    const narrow = await leafFor([`orders-0${host}`]);
    const wide = await leafFor([`*${host}`]);
    put({ 'tls.crt': wide.certificate, 'tls.key': wide.key });
    const tls = { raft: { enabled: true }, issuer: { secretRef: { name: 'mine' } } };
    world.create('orders', { replicas: 3, tls });
    await world.settle();
    const stalled = () =>
      conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? 'not stalled';
    assert.match(stalled(), /needs the key ca\.crt/);
    put({ 'ca.crt': authority.certificate, 'tls.crt': narrow.certificate, 'tls.key': narrow.key });
    await world.settle();
    assert.match(stalled(), /does not speak for the member orders-1\.orders/);
    const { certificate, key } = authority;
    put({ 'ca.crt': certificate, 'tls.crt': certificate, 'tls.key': key });
    await world.settle();
    assert.match(stalled(), /serverAuth and clientAuth/);
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pkcs1 = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    put({ 'ca.crt': certificate, 'tls.crt': wide.certificate, 'tls.key': pkcs1 });
    await world.settle();
    assert.match(stalled(), /secretRef: Secret mine: tls\.key holds 'RSA PRIVATE KEY'.*PKCS#8/);
    assert.equal(world.api.all('Pod').length, 0);
    put({ 'ca.crt': certificate, 'tls.crt': wide.certificate, 'tls.key': wide.key });
    await world.settle();
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
  });
});

describe('members that run', () => {
  it('are not restarted for a Secret of the user that none of them could start with', async () => {
    const world = new SimulatedWorld();
    world.create('orders', { replicas: 3, tls: { raft: { enabled: true } } });
    await world.settle();
    const uids = () => world.api.all('Pod').map(({ metadata }) => metadata.uid);
    const pods = uids();
    const { certificate, key } = await makeAuthority('mine', 30, world.runtime.clock.now());
    putSecret(world, 'mine', { 'ca.crt': certificate, 'tls.crt': certificate, 'tls.key': key });
    const named = (name: string) => ({ spec: { tls: { issuer: { secretRef: { name } } } } });
    world.api.change('Cluster', 'orders', named('mine'));
    await world.settle();
    assert.equal(world.condition('Stalled'), 'True InvalidSpec');
    assert.equal(world.condition('CertificatesValid'), 'False NotValid');
    assert.deepEqual(uids(), pods);
    world.api.change('Cluster', 'orders', named('nowhere'));
    await world.settle();
    assert.equal(world.condition('Stalled'), 'True SecretMissing');
    assert.deepEqual(uids(), pods);
    world.api.change('Cluster', 'orders', { spec: { tls: { issuer: null } } });
    await world.settle();
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
    assert.deepEqual(uids(), pods);
  });
});

describe('HTTPS with a Secret of the user', () => {
  it('waits for one that can serve', async () => {
    const world = new SimulatedWorld();
    const put = (data: Readonly<Record<string, string>>) => putSecret(world, 'mine', data);
    world.create('orders', {
      tls: { http: { enabled: true }, issuer: { secretRef: { name: 'mine' } } },
    });
    const stalled = () =>
      conditionOf(world.cluster().status?.conditions, 'Stalled')?.message ?? 'not stalled';
    await world.turn();
    await world.settle();
    assert.match(stalled(), /Secret mine is not in this namespace/);
    const right = await makeAuthority('right', 30, world.runtime.clock.now());
    const other = await makeAuthority('other', 30, world.runtime.clock.now());
    put({ 'tls.crt': right.certificate, 'tls.key': other.key });
    await world.settle();
    assert.match(stalled(), /tls\.key does not belong to tls\.crt/);
    assert.equal(world.api.find('Pod', 'orders-0'), undefined);
    put({ 'tls.crt': right.certificate, 'tls.key': right.key });
    await world.settle();
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
    assert.equal(world.api.find('Secret', 'orders-ca'), undefined);
  });
});

describe('Certificates of cert-manager', () => {
  const issuerRef = { name: 'corporate', kind: 'ClusterIssuer' };
  const spec = { tls: { raft: { enabled: true }, issuer: { certManager: { issuerRef } } } };

  it('are asked for with the profile of our own, and waited for with what cert-manager says', async () => {
    const world = new SimulatedWorld();
    world.create('orders', { ...spec, replicas: 3 });
    for (let turn = 0; turn < 4; turn++) await world.turn();
    const request = world.api.find('Certificate', 'orders-tls');
    const { dnsNames, ...rest } = request?.spec ?? {};
    assert.deepEqual(rest, {
      secretName: 'orders-tls',
      secretTemplate: { labels: request?.metadata.labels },
      commonName: 'orders-peers',
      duration: '2160h0m0s',
      renewBefore: '720h0m0s',
      privateKey: { algorithm: 'ECDSA', size: 256, encoding: 'PKCS8', rotationPolicy: 'Always' },
      usages: ['digital signature', 'server auth', 'client auth'],
      issuerRef,
    });
    assert.ok((dnsNames as readonly string[]).includes('orders-2.orders.shop.svc.cluster.local'));
    const message = 'Issuing certificate as Secret does not exist';
    const condition = { type: 'Ready', status: 'False', reason: 'DoesNotExist', message };
    world.api.change('Certificate', 'orders-tls', { status: { conditions: [condition] } });
    await world.turn();
    assert.equal(world.api.find('StatefulSet', 'orders'), undefined);
    assert.match(
      conditionOf(world.cluster().status?.conditions, 'Ready')?.message ?? '',
      /waits for cert-manager to fill Secret orders-tls: Issuing certificate/,
    );
    // It fills the Secret, and the Cluster goes on; nobody else signs anything.
    const now = world.runtime.clock.now();
    const authority = await makeAuthority('corporate', 3650, now);
    const { certificate, key } = await makeLeaf(
      {
        commonName: 'orders-peers',
        dnsNames: dnsNames as readonly string[],
        notAfterMs: now + 60 * dayMs,
      },
      { commonName: 'corporate', key: authority.key },
      now,
    );
    const labels = request?.metadata.labels ?? {};
    putSecret(world, 'orders-tls', {
      'tls.crt': certificate,
      'tls.key': key,
      'ca.crt': authority.certificate,
    });
    world.api.change('Secret', 'orders-tls', { metadata: { labels } });
    await world.settle();
    assert.equal(world.condition('Ready'), 'True AllMembersReady');
    assert.equal(world.condition('CertificatesValid'), 'True Valid');
    assert.equal(world.api.find('Secret', 'orders-ca'), undefined);
  });
});
