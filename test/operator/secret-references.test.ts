import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSpec } from '../../operator/api/cluster.ts';
import { allDefinitions } from '../../operator/api/kinds/definitions.ts';

// Names of Secrets, and keys in them, that Kubernetes would never take are refused when the object is applied.

type Schema = Readonly<Record<string, unknown>>;

/** Patterns of texts, by kind and path. */
function* patternsIn(schema: Schema, path: string): Generator<readonly [string, unknown]> {
  if (schema['type'] === 'string') yield [path, schema['pattern']];
  for (const [name, inner] of Object.entries((schema['properties'] ?? {}) as object))
    yield* patternsIn(inner as Schema, `${path}.${name}`);
  if (schema['items'] !== undefined) yield* patternsIn(schema['items'] as Schema, path);
}

const patterns = allDefinitions().flatMap((definition) => {
  const { spec } = definition as unknown as {
    readonly spec: {
      readonly names: { readonly kind: string };
      readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
    };
  };
  return [...patternsIn(spec.versions[0]?.schema.openAPIV3Schema ?? {}, spec.names.kind)];
});

const isName =
  /\.spec\..*(secretName|credentialsSecret|secretRef\.name|secretKeyRef\.name|imagePullSecrets\.name)$/;
const isKey = /\.spec\..*(secretKeyRef|rootPassword|clusterToken)\.key$/;

/** What does not fit where it should, and what fits where it should not. */
function wrong(
  [path, pattern]: readonly [string, unknown],
  { good, bad }: { readonly good: readonly string[]; readonly bad: readonly string[] },
): readonly string[] {
  if (typeof pattern !== 'string') return [`${path} takes anything`];
  const fits = (text: string) => new RegExp(pattern).test(text);
  return [...good.filter((text) => !fits(text)), ...bad.filter(fits)].map(
    (text) => `${path}: '${text}'`,
  );
}

test('the name of a Secret is a DNS subdomain', () => {
  const fields = patterns.filter(([path]) => isName.test(path));
  assert.deepEqual(
    fields.map(([path]) => path),
    [
      'Cluster.spec.imagePullSecrets.name',
      'Cluster.spec.secretSettings.secretKeyRef.name',
      'Cluster.spec.auth.rootPassword.secretName',
      'Cluster.spec.auth.clusterToken.secretName',
      'Cluster.spec.tls.issuer.secretRef.name',
      'Cluster.spec.bootstrap.fromBackup.source.credentialsSecret',
      'Backup.spec.destination.s3.credentialsSecret',
      'ScheduledBackup.spec.template.destination.s3.credentialsSecret',
      'Restore.spec.source.credentialsSecret',
    ],
  );
  const good = ['a', '1', 'orders-root', 'orders.root.v1', 'a-1.b-2'];
  const bad = ['', 'Orders', 'orders_root', '-a', 'a-', '.a', 'a.', 'a..b', 'a/b', 'a b', 'a\nb'];
  assert.deepEqual(
    fields.flatMap((field) => wrong(field, { good, bad })),
    [],
  );
});

test('a key in a Secret is one that Kubernetes takes', () => {
  const fields = patterns.filter(([path]) => isKey.test(path));
  assert.equal(fields.length, 3, fields.map(([path]) => path).join(', '));
  const good = ['rootPassword', 'tls.crt', '.dot', 'A_b-1', '-', '_'];
  const bad = ['', '.', '..', '..data', 'a/b', 'a b', 'a:b', 'ä', 'a\nb'];
  assert.deepEqual(
    fields.flatMap((field) => wrong(field, { good, bad })),
    [],
  );
});

test('an operator with an older definition says which field it is', () => {
  const problemOf = (rootPassword: object) =>
    parseSpec({
      apiVersion: 'polyad.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'orders' },
      spec: { auth: { rootPassword } },
    }).problem;
  assert.equal(problemOf({ secretName: 'orders-admin', key: 'rootPassword' }), undefined);
  assert.match(
    problemOf({ secretName: 'Orders', key: 'a' }) ?? '',
    /^spec\.auth\.rootPassword\.secretName: must be the name of a Secret/,
  );
  assert.match(
    problemOf({ secretName: 'orders', key: 'a/b' }) ?? '',
    /^spec\.auth\.rootPassword\.key: must be a key in a Secret/,
  );
});
