import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { makeAuthority, makeLeaf } from '../../operator/act/x509.ts';
import { parseSpec } from '../../operator/api/cluster.ts';
import type { ClusterObject } from '../../operator/api/cluster.ts';
import type { Pod } from '../../operator/api/kubernetes-object.ts';
import type { ObservedCertificate } from '../../operator/api/observation.ts';
import { systemRuntime } from '../../operator/kubernetes/system-runtime.ts';
import { memberOf } from '../../operator/observe/member-address.ts';
import { MemberHttp } from '../../operator/observe/member-http.ts';
import { podTemplate } from '../../operator/resources/pod-template.ts';

// The operator asks a member that serves HTTPS over TLS, and only one that can show a certificate of its Cluster.

const dayMs = 86_400_000;
const nowMs = Date.now();
const authority = await makeAuthority('orders-ca', 1, nowMs);
const member = 'orders-0.orders.shop.svc.cluster.local';

/** A member that answers everything, with this certificate; counts what reached it. */
async function serve(
  context: TestContext,
  {
    names,
    signer = authority,
    keepsOpen = true,
  }: {
    readonly names: readonly string[];
    readonly signer?: typeof authority;
    readonly keepsOpen?: boolean;
  },
) {
  const leaf = await makeLeaf(
    { commonName: 'orders-peers', dnsNames: names, notAfterMs: nowMs + dayMs },
    { commonName: 'orders-ca', key: signer.key },
    nowMs,
  );
  const heard: string[] = [];
  const resumed: boolean[] = [];
  const ports: (number | undefined)[] = [];
  const server = createServer({ cert: leaf.certificate, key: leaf.key }, (request, answer) => {
    heard.push(`${request.method} ${request.headers.authorization ?? ''}`);
    ports.push(request.socket.remotePort);
    resumed.push((request.socket as TLSSocket).isSessionReused());
    answer.setHeader('Connection', keepsOpen ? 'keep-alive' : 'close').end('an answer');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, heard, resumed, ports };
}

function askOn(context: TestContext, port: number, names: readonly string[] = [member]) {
  const transport = new MemberHttp(systemRuntime.timers);
  context.after(() => transport.close());
  return (method: 'GET' | 'POST', { certificate } = authority) =>
    transport.send(
      { host: '127.0.0.1', port, tls: { authorities: certificate, names } },
      { method, path: '/', headers: { Authorization: 'a password' }, timeoutMs: 5000 },
    );
}

test('a member with a certificate of its Cluster is asked over TLS', async (context) => {
  const { port, heard } = await serve(context, { names: ['*.orders.shop.svc.cluster.local'] });
  const ask = askOn(context, port);
  assert.deepEqual(await ask('GET'), { status: 200, body: 'an answer' });
  assert.deepEqual(await ask('POST'), { status: 200, body: 'an answer' });
  assert.deepEqual(heard, ['GET a password', 'POST a password']);
});

test('a certificate of one’s own that names no member is taken by a name that stands in it', async (context) => {
  const { port } = await serve(context, { names: ['*.db.example'] });
  assert.equal((await askOn(context, port, [member, '*.db.example'])('GET')).status, 200);
});

test('questions over further connections resume the session of the first, unless another authority is asked for', async (context) => {
  const { port, resumed } = await serve(context, { names: [member], keepsOpen: false });
  const ask = askOn(context, port);
  for (let question = 0; question < 3; question++) assert.equal((await ask('GET')).status, 200);
  assert.deepEqual(resumed, [false, true, true]);
  const stranger = await makeAuthority('orders-ca', 1, nowMs);
  await assert.rejects(ask('GET', stranger), { code: /UNABLE_TO_VERIFY|SIGNATURE_FAILURE/ });
  assert.equal(resumed.length, 3);
});

test('questions go over one connection while it is open', async (context) => {
  const { port, ports } = await serve(context, { names: [member] });
  const ask = askOn(context, port);
  for (let question = 0; question < 3; question++) assert.equal((await ask('GET')).status, 200);
  assert.equal(new Set(ports).size, 1);
  // Whoever changes something opens its own.
  await ask('POST');
  assert.equal(new Set(ports).size, 2);
});

test('sessions of hundreds of members are kept', async (context) => {
  const { port, resumed } = await serve(context, { names: ['*.x.y'], keepsOpen: false });
  const transport = new MemberHttp(systemRuntime.timers);
  context.after(() => transport.close());
  const ask = (name: string) =>
    transport.send(
      {
        ...{ host: '127.0.0.1', port },
        tls: { authorities: authority.certificate, names: [name] },
      },
      { method: 'GET', path: '/', headers: {}, timeoutMs: 20_000 },
    );
  const names = Array.from({ length: 105 }, (_, at) => `m${at}.x.y`);
  for (const name of [...names, ...names]) await ask(name);
  assert.deepEqual(
    resumed,
    [...names, ...names].map((_, at) => at >= names.length),
  );
});

test('who shows a certificate of another authority, or of another Cluster, hears nothing', async (context) => {
  const stranger = await makeAuthority('orders-ca', 1, nowMs);
  for (const [wrong, code] of [
    [{ names: [member], signer: stranger }, /UNABLE_TO_VERIFY|SIGNATURE_FAILURE|SELF_SIGNED/],
    [{ names: ['orders-0.orders.bank.svc.cluster.local'] }, /ALTNAME_INVALID/],
  ] as const) {
    const { port, heard } = await serve(context, wrong);
    for (const method of ['GET', 'POST'] as const) {
      const ask = askOn(context, port);
      await assert.rejects(ask(method), { code });
      // Nothing of the first time is taken for granted.
      await assert.rejects(ask(method), { code });
    }
    assert.deepEqual(heard, []);
  }
});

const cluster: ClusterObject = {
  apiVersion: 'polyad.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'orders', namespace: 'shop', uid: 'cluster-1' },
  spec: {},
};

/** A pod as the operator makes it. */
function podOf(http: { readonly enabled: boolean }) {
  const { spec } = parseSpec({ ...cluster, spec: { tls: { http } } });
  assert.ok(spec);
  const template = podTemplate({
    ...{ cluster, spec, image: 'polyad:1', restartHash: 'x', isReplicated: true },
  });
  const pod = {
    ...template,
    metadata: { name: 'orders-0', namespace: 'shop', uid: 'pod-1' },
    status: { podIP: '10.0.0.1' },
  } as unknown as Pod;
  return { pod, spec };
}

const leaf = (authorities: string): ObservedCertificate => ({
  ...{ problem: undefined, notAfterMs: nowMs + dayMs, serial: '1', dnsNames: ['*.x'] },
  ...{ isIssuedByAuthority: true, trusted: [], trustedSinceMs: undefined, authorities },
});

test('a pod that serves HTTPS is reached there, with who may have signed for it; others are in plain HTTP', () => {
  const secure = podOf({ enabled: true });
  const plain = podOf({ enabled: false });
  const certificates = { leaf: leaf('a PEM'), authority: undefined };
  assert.deepEqual(memberOf(secure.pod, { ...secure, cluster, certificates })?.address, {
    ...{ host: '10.0.0.1', port: 2490, tls: { authorities: 'a PEM', names: [member, '*.x'] } },
  });
  // What the spec says of tomorrow changes nothing for a pod of today.
  assert.equal(memberOf(secure.pod, { ...plain, cluster, certificates })?.address.port, 2490);
  for (const [given, known] of [
    [plain, certificates],
    [secure, { leaf: leaf(''), authority: undefined }],
    [secure, { leaf: { problem: 'it cannot be read' }, authority: undefined }],
    [secure, undefined],
  ] as const)
    assert.deepEqual(memberOf(given.pod, { ...given, cluster, certificates: known })?.address, {
      ...{ host: '10.0.0.1', port: 2480 },
    });
});
