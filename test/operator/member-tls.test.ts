import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
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
  { names, signer = authority }: { readonly names: readonly string[]; signer?: typeof authority },
) {
  const leaf = await makeLeaf(
    { commonName: 'orders-peers', dnsNames: names, notAfterMs: nowMs + dayMs },
    { commonName: 'orders-ca', key: signer.key },
    nowMs,
  );
  const heard: string[] = [];
  const server = createServer({ cert: leaf.certificate, key: leaf.key }, (request, answer) => {
    heard.push(`${request.method} ${request.headers.authorization ?? ''}`);
    answer.end('an answer');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  return { port: (server.address() as AddressInfo).port, heard };
}

function askOn(context: TestContext, port: number, names: readonly string[] = [member]) {
  const transport = new MemberHttp(systemRuntime.timers);
  context.after(() => transport.close());
  const tls = { authorities: authority.certificate, names };
  return (method: 'GET' | 'POST') =>
    transport.send(
      { host: '127.0.0.1', port, tls },
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

test('who shows a certificate of another authority, or of another Cluster, hears nothing', async (context) => {
  const stranger = await makeAuthority('orders-ca', 1, nowMs);
  for (const [wrong, code] of [
    [{ names: [member], signer: stranger }, /UNABLE_TO_VERIFY|SIGNATURE_FAILURE|SELF_SIGNED/],
    [{ names: ['orders-0.orders.bank.svc.cluster.local'] }, /ALTNAME_INVALID/],
  ] as const) {
    const { port, heard } = await serve(context, wrong);
    for (const method of ['GET', 'POST'] as const)
      await assert.rejects(askOn(context, port)(method), { code });
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
