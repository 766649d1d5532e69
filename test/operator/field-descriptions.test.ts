import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterSchema } from '../../operator/api/custom-resource-definition.ts';
import { allDefinitions } from '../../operator/api/kinds/definitions.ts';

// What `kubectl explain` and tools that merge lists find in the definition.

type Schema = {
  readonly type?: string;
  readonly description?: string;
  readonly 'x-kubernetes-list-type'?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
};

function fieldsOf(schema: Schema, path: string): (readonly [string, Schema])[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [
    [`${path}.${name}`, inner] as const,
    ...fieldsOf(inner, `${path}.${name}`),
  ]);
  const inner = [schema.items, schema.additionalProperties].filter((part) => part !== undefined);
  return [...own, ...inner.flatMap((part) => fieldsOf(part, path))];
}

test('kubectl explain says something of every field of spec and status', () => {
  const { spec = {}, status = {} } = (clusterSchema() as Schema).properties ?? {};
  const fields = [...fieldsOf(spec, 'spec'), ...fieldsOf(status, 'status')];
  const bare = fields.filter(([, { description = '' }]) => description.length < 8);
  assert.deepEqual(
    bare.map(([path]) => path),
    [],
  );
  assert.ok(fields.length > 300);
  const text = (path: string) => fields.find(([at]) => at === path)?.[1].description ?? '';
  assert.match(
    text('spec.update.minReadySeconds'),
    /Seconds .* Default: 10\. .* without a restart/,
  );
  assert.match(text('spec.heapPercent'), /Percent .* Default: 75\. A change restarts the members/);
  assert.match(text('spec.clusterDomain'), /It cannot be changed/);
  assert.match(text('spec.storage.size'), /without a restart/);
});

test('kubectl explain says something of every field of the kinds beside Cluster', () => {
  for (const { kind, fields } of fieldsOfAll().slice(1)) {
    const bare = fields.filter(([, { description = '' }]) => description.length < 8);
    const texts = fields.map(([, { description = '' }]) => description);
    assert.deepEqual([kind, bare.map(([path]) => path)], [kind, []]);
    assert.deepEqual(
      texts.filter((text) => /A change (takes|restarts)|undefined/.test(text)),
      [],
    );
    assert.ok(fields.length > 25, kind);
  }
});

function fieldsOfAll() {
  return allDefinitions().map((definition) => {
    const { spec: parts } = definition as unknown as {
      readonly spec: {
        readonly names: { readonly kind: string };
        readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
      };
    };
    const { spec = {}, status = {} } = parts.versions[0]?.schema.openAPIV3Schema.properties ?? {};
    const fields = [...fieldsOf(spec, 'spec'), ...fieldsOf(status, 'status')];
    return { kind: parts.names.kind, fields };
  });
}

test('every list says how it is merged', () => {
  for (const [path, schema] of fieldsOfAll().flatMap(({ fields }) => fields))
    if (schema.type === 'array') assert.ok(schema['x-kubernetes-list-type'], path);
});

test('an issuer that the operator is itself has no fields', () => {
  const { spec } = (clusterSchema() as Schema).properties ?? {};
  const issuer = spec?.properties?.['tls']?.properties?.['issuer']?.properties?.['selfManaged'];
  assert.equal(issuer?.type, 'object');
  assert.equal('x-kubernetes-preserve-unknown-fields' in (issuer ?? {}), false);
});
