import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Environment } from '@marcbachmann/cel-js';
import { clusterRules } from '../../operator/api/cel-rules.ts';
import { parseSpec } from '../../operator/api/cluster.ts';
import type { ClusterObject } from '../../operator/api/cluster.ts';
import { clusterSpec } from '../../operator/api/cluster-spec.ts';
import { clusterSchema } from '../../operator/api/custom-resource-definition.ts';
import { definitionFiles } from '../../operator/api/definition-file.ts';
import { allDefinitions } from '../../operator/api/kinds/definitions.ts';
import type { JsonObject } from '../../operator/api/kubernetes-object.ts';
import { hotSettings, managedSettings } from '../../operator/api/setting-classes.ts';
import { variableOf } from '../../operator/resources/setting-variable.ts';
import { allSettings, variableOf as serverVariableOf } from '#config/registry.ts';
import { rootDirectory } from '#test/tidy/source-tree.ts';

/*
 * The custom resource definition: generated from the schemas, structural, small, and its rules accept and refuse what they say.
 * The rules run here in a JavaScript CEL engine over objects with the definition's own defaults; the API server's estimate of
 * their cost is checked on a real one (e2e).
 */

const bytesMax = 200 * 1024;

test('the files in crds/ are what `npm run generate` writes', () => {
  for (const { path, content } of definitionFiles())
    assert.equal(readFileSync(path, 'utf8'), content);
  const known = definitionFiles().map(({ name }) => name);
  assert.deepEqual(readdirSync(join(rootDirectory, 'crds')).sort(), [...known].sort());
  const charted = readdirSync(join(rootDirectory, 'chart/files/crds')).sort();
  assert.deepEqual(charted, [...known].sort());
});

test('every definition stays far below what client-side apply can hold', () => {
  for (const { content } of definitionFiles()) assert.ok(Buffer.byteLength(content) < bytesMax);
  for (const definition of allDefinitions())
    assert.ok(JSON.stringify(definition).length < bytesMax);
});

type Schema = Readonly<Record<string, unknown>>;

/** Every schema below the root, with its path. */
function* schemasIn(schema: Schema, path = ''): Generator<readonly [string, Schema]> {
  yield [path, schema];
  for (const [name, inner] of Object.entries((schema['properties'] ?? {}) as object))
    yield* schemasIn(inner as Schema, path === '' ? name : `${path}.${name}`);
  if (schema['items'] !== undefined) yield* schemasIn(schema['items'] as Schema, `${path}[]`);
  if (typeof schema['additionalProperties'] === 'object')
    yield* schemasIn(schema['additionalProperties'] as Schema, `${path}.*`);
}

/** The schemas of every kind, with their paths. */
function schemasOfAll(): readonly (readonly [string, Schema])[] {
  return allDefinitions().flatMap((definition) => {
    const { spec } = definition as unknown as {
      readonly spec: { readonly versions: readonly { schema: { openAPIV3Schema: Schema } }[] };
    };
    return [...schemasIn(spec.versions[0]?.schema.openAPIV3Schema ?? {})];
  });
}

test('the schemas are structural and bounded, with no default inside a list', () => {
  const problems: string[] = [];
  for (const [path, schema] of schemasOfAll()) {
    if (schema['type'] === undefined && schema['x-kubernetes-int-or-string'] !== true)
      problems.push(`${path}: no type`);
    for (const word of ['anyOf', 'oneOf', 'allOf', 'not', '$ref', '$schema', 'const'])
      if (word in schema) problems.push(`${path}: ${word}`);
    if (path.includes('[]') && 'default' in schema) problems.push(`${path}: default in a list`);
    const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
    const isMetadata = /^(apiVersion|kind|metadata)/.test(path);
    if (
      schema['type'] === 'string' &&
      !('maxLength' in schema) &&
      !('enum' in schema) &&
      !isMetadata
    )
      problems.push(`${path}: no maxLength`);
    if (schema['type'] === 'array' && !('maxItems' in schema))
      problems.push(`${path}: no maxItems`);
    if (!isOpen && 'additionalProperties' in schema && !('maxProperties' in schema))
      problems.push(`${path}: no maxProperties`);
  }
  assert.deepEqual(problems, []);
});

test('every rule speaks in a sentence that names its field', () => {
  const silent = clusterRules.filter(
    ({ message }) => !/(spec|metadata)\.|spec has/.test(message) || message.length < 40,
  );
  assert.deepEqual(
    silent.map(({ message }) => message),
    [],
  );
});

/** What the API server does with defaults before it runs the rules. */
function withDefaults(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((item) => withDefaults((schema['items'] ?? {}) as Schema, item));
  if (typeof value !== 'object' || value === null) return value;
  const result: Record<string, unknown> = { ...value };
  for (const [name, inner] of Object.entries(
    (schema['properties'] ?? {}) as Record<string, Schema>,
  )) {
    if (result[name] === undefined && 'default' in inner)
      result[name] = structuredClone(inner['default']);
    if (result[name] !== undefined) result[name] = withDefaults(inner, result[name]);
  }
  return result;
}

const schema = clusterSchema();

function complete(cluster: object): unknown {
  return withDefaults(schema, {
    apiVersion: 'polyad.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'orders' },
    ...cluster,
  });
}

/** What stands at a path; a star stands for every value of a map. */
function valuesAt(object: unknown, path: string): readonly unknown[] {
  return (path === '' ? [] : path.split('.')).reduce<readonly unknown[]>(
    (values, name) =>
      values
        .flatMap((value) =>
          name === '*'
            ? Object.values((value ?? {}) as JsonObject)
            : [(value as JsonObject | undefined)?.[name]],
        )
        .filter((value) => value !== undefined),
    [object],
  );
}

const environment = new Environment({ unlistedVariablesAreDyn: true });

/** Whole numbers are integers to the API server, doubles to JavaScript. */
function asCel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asCel);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asCel(inner)]));
  return Number.isInteger(value) ? BigInt(value as number) : value;
}

/** Messages of the rules that refuse the object. Rules about the old object do not run on creation. */
function refusals(cluster: object, old?: object): string[] {
  const self = complete(cluster);
  const before = old === undefined ? undefined : complete(old);
  const found: string[] = [];
  for (const { at, rule, message } of clusterRules) {
    const [previous] = before === undefined ? [] : valuesAt(before, at);
    if (rule.includes('oldSelf') && previous === undefined) continue;
    for (const value of valuesAt(self, at)) {
      const result: unknown = environment.evaluate(rule, {
        self: asCel(value),
        oldSelf: asCel(previous),
      });
      assert.equal(typeof result, 'boolean', `${rule} answers ${String(result)}`);
      if (result === false) found.push(message);
    }
  }
  return found;
}

test('the smallest Cluster has three lines and three members', () => {
  assert.deepEqual(refusals({}), []);
  assert.deepEqual(refusals({ spec: {} }), []);
  assert.equal((complete({}) as { readonly spec: { readonly replicas: number } }).spec.replicas, 3);
});

test('one to nine members are accepted', () => {
  for (const replicas of [1, 2, 3, 9]) assert.deepEqual(refusals({ spec: { replicas } }), []);
  const { minimum, maximum } = (
    clusterSchema() as unknown as {
      properties: { spec: { properties: { replicas: { minimum: number; maximum: number } } } };
    }
  ).properties.spec.properties.replicas;
  assert.deepEqual([minimum, maximum], [1, 9]);
});

const accepted: readonly object[] = [
  { image: 'polyad:1', imagePullPolicy: 'Always', imagePullSecrets: [{ name: 'a' }] },
  { readReplicas: 0, quorum: 'majority', electionTimeout: { minMs: 2000 }, hibernate: true },
  { settings: { 'service.server.logLevel': 'debug', 'service.txRetries': '5' } },
  {
    secretSettings: [
      { key: 'service.server.defaultDatabases', secretKeyRef: { name: 'a', key: 'b' } },
    ],
  },
  { auth: { rootPassword: { secretName: 'admin', key: 'password' } } },
  { tls: { raft: { enabled: false } } },
  { tls: { raft: { enabled: true, mutualAuth: false } } },
  { tls: { http: { enabled: true }, certDays: 30, extraDnsNames: ['db.example'] } },
  {
    tls: { http: { enabled: true }, issuer: { secretRef: { name: 'mine' } } },
    ports: { https: 8443 },
  },
  { plugins: { redis: { enabled: false } } },
  { plugins: { redis: { enabled: true } } },
  { plugins: { redis: { enabled: true, port: 6380, settings: { maxConnections: '50' } } } },
  { plugins: { prometheus: { enabled: true } } },
  { monitoring: { podMonitor: { enabled: true, interval: '15s', labels: { release: 'p' } } } },
  { update: { backupFirst: true, canarySoakSeconds: 10, verify: 'None', verifyMaxBytes: '1Gi' } },
  { update: { strategy: 'Recreate', allowDowntime: true } },
  { recovery: { lostVolume: 'Automatic', lostVolumeAfterSeconds: 60 } },
  { ports: { http: 8080 } },
  { storage: { size: '10Gi', storageClassName: 'fast', backups: { size: '1Gi' } } },
  { deletionPolicy: 'BackupThenDelete', update: { strategy: 'OnDelete', paused: true } },
  {
    backup: {
      directory: './backups',
      defaults: {
        schedule: {
          type: 'cron',
          expression: '0 0 2 * * *',
          timeWindow: { start: '01:00', end: '05:00' },
        },
      },
    },
  },
  { backup: { databases: { audit: { runOnServer: '$all' } } } },
  { mcp: { enabled: true, profile: 'rag', databases: { audit: { allowReads: false } } } },
  { services: { http: { type: 'LoadBalancer' }, readOnly: { enabled: false } } },
  { networkPolicy: { enabled: true, httpFrom: [{ podSelector: {} }] } },
  { bootstrap: { empty: {} } },
  { bootstrap: { empty: { formation: 'Static' } } },
  { bootstrap: { fromRelease: { statefulSet: 'orders' } } },
  { recovery: { nodeGone: 'ForceDeleteWhenNodeObjectGone' } },
  { recovery: { quorum: { acknowledge: 'quorum-1', survivor: 'orders-1' } } },
  { resources: { limits: { memory: '1Gi' } }, antiAffinity: 'Required' },
];

test('what has an effect is accepted', () => {
  for (const spec of accepted) {
    assert.deepEqual(refusals({ spec: { replicas: 1, ...spec } }), [], JSON.stringify(spec));
    assert.equal(clusterSpec.safeParse({ replicas: 1, ...spec }).success, true);
  }
});

const refused: readonly (readonly [object, RegExp])[] = [
  [
    { tls: { issuer: { certManager: { issuerRef: { name: 'a' } } }, certDays: 30 } },
    /^spec\.tls\.renewBeforeDays/,
  ],
  [{ plugins: { postgres: { enabled: true } } }, /^spec\.plugins/],
  [{ plugins: { redis: { enabled: true, port: 2480 } } }, /^spec\.plugins\.redis\.port/],
  [{ plugins: { prometheus: { enabled: true, port: 1 } } }, /^spec\.plugins/],
  [{ plugins: { custom: [{ name: 'a', module: 'b', port: 1 }] } }, /^spec\.plugins/],
  [{ update: { strategy: 'Recreate' } }, /^spec\.update\.strategy 'Recreate' needs/],
  [{ bootstrap: { fromBackup: {} } }, /^spec\.bootstrap\.fromBackup takes exactly one/],
  [{ bootstrap: {} }, /^spec\.bootstrap takes exactly one/],
  [
    { bootstrap: { fromRelease: { statefulSet: 'a' } } },
    /^spec\.bootstrap\.fromRelease\.statefulSet must be metadata\.name/,
  ],
  [{ settings: { txRetries: '5' } }, /^spec\.settings takes full names/],
  [{ settings: { 'service.server.name': 'x' } }, /^spec\.settings may not hold names/],
  [
    { settings: { 'service.ssl.enabled': 'true' } },
    /^spec\.settings may not hold service\.ha\.tls/,
  ],
  [
    {
      secretSettings: [
        { key: 'service.server.rootPassword', secretKeyRef: { name: 'a', key: 'b' } },
      ],
    },
    /^spec\.secretSettings/,
  ],
  [{ backup: { directory: '/backups' } }, /^spec\.backup\.directory/],
  [{ backup: { directory: '../backups' } }, /^spec\.backup\.directory/],
  [{ backup: { defaults: { schedule: { type: 'cron' } } } }, /^spec\.backup\.defaults\.schedule/],
  [
    { backup: { databases: { audit: { schedule: { type: 'cron' } } } } },
    /^spec\.backup\.databases\.<name>\.schedule\.expression is needed/,
  ],
  [
    { backup: { defaults: { schedule: { timeWindow: { start: '24:00', end: '05:00' } } } } },
    /timeWindow\.start/,
  ],
  [
    {
      backup: { databases: { audit: { schedule: { timeWindow: { start: '01:00', end: '5' } } } } },
    },
    /spec\.backup\.databases\.<name>\.schedule\.timeWindow\.end/,
  ],
  [{ deletionPolicy: 'BackupThenDelete', ephemeral: true }, /^spec\.deletionPolicy/],
  [{ serviceAccount: { create: false } }, /^spec\.serviceAccount\.name/],
];

test('every field without effect is refused by a rule that names it', () => {
  for (const [spec, message] of refused) {
    const found = refusals({ spec: { replicas: 1, ...spec } });
    assert.equal(found.length, 1, `${JSON.stringify(spec)}: ${JSON.stringify(found)}`);
    assert.match(found[0] ?? '', message);
  }
});

test('names that would collide or not fit are refused', () => {
  const named = (name: string) => refusals({ metadata: { name }, spec: { replicas: 1 } });
  assert.deepEqual(named('a'.repeat(40)), []);
  assert.match(named('a'.repeat(41))[0] ?? '', /at most 40 characters/);
  for (const name of ['orders-rw', 'orders-ro', 'orders-http'])
    assert.match(named(name)[0] ?? '', /may not end with/);
  for (const name of ['1orders', 'a.b'])
    assert.match(named(name)[0] ?? '', /must start with a letter/);
});

test('what is immutable cannot change, appear or vanish', () => {
  const change = (before: object, after: object) =>
    refusals({ spec: { replicas: 1, ...after } }, { spec: { replicas: 1, ...before } });
  assert.match(change({}, { clusterDomain: 'other.local' })[0] ?? '', /^spec\.clusterDomain/);
  assert.match(change({}, { ports: { http: 8080 } })[0] ?? '', /^spec\.ports is immutable/);
  assert.match(change({}, { ephemeral: true })[0] ?? '', /^spec\.ephemeral/);
  const clear = { tls: { raft: { enabled: false } } };
  assert.match(change({}, clear)[0] ?? '', /^spec\.tls\.raft\.enabled changes only with/);
  assert.match(change(clear, {})[0] ?? '', /^spec\.tls\.raft\.enabled changes only with/);
  assert.deepEqual(change({}, { ...clear, update: { allowDowntime: true } }), []);
  assert.match(
    change({}, { tls: { raft: { mutualAuth: false } } })[0] ?? '',
    /^spec\.tls\.raft\.mutualAuth is immutable/,
  );
  assert.deepEqual(change(clear, { ...clear, replicas: 3 }), []);
  assert.match(
    change({}, { bootstrap: { empty: {} } })[0] ?? '',
    /^spec\.bootstrap can be neither/,
  );
  assert.match(change({}, { storage: { storageClassName: 'a' } })[0] ?? '', /storageClassName/);
  assert.match(change({}, { storage: { backups: { size: '1Gi' } } })[0] ?? '', /storage\.backups/);
  assert.match(change({}, { storage: { accessMode: 'ReadWriteOncePod' } })[0] ?? '', /accessMode/);
  assert.deepEqual(change({ image: 'a' }, { image: 'b', storage: { size: '9Gi' } }), []);
});

test('defaults of the definition and of the operator are the same', () => {
  const filled = (complete({ spec: { replicas: 1 } }) as { readonly spec: object }).spec;
  const parsed = parseSpec({ spec: { replicas: 1 } } as ClusterObject).spec;
  assert.deepEqual(filled, JSON.parse(JSON.stringify(parsed)));
});

test('members of a new Cluster speak TLS; no field of an absent feature is switched on by default', () => {
  const parsed = parseSpec({ spec: {} } as ClusterObject).spec;
  assert.equal(parsed?.replicas, 3);
  assert.deepEqual(parsed?.tls.raft, { enabled: true, mutualAuth: true });
  assert.deepEqual(parsed?.tls.issuer, { selfManaged: {} });
  assert.equal(parsed?.update.verify, 'AfterUpgrade');
  assert.equal(parsed?.update.allowDowntime, false);
  assert.equal(parsed?.backup, undefined);
});

test('each setting has the variable that the server reads', () => {
  for (const { key } of allSettings) assert.equal(variableOf(key), serverVariableOf(key));
});

test('what the table calls hot is what the server takes over while it runs', () => {
  const live = new Set(
    allSettings
      .filter(({ reload, scope }) => reload === 'live' && scope === 'server')
      .map(({ key }) => key),
  );
  assert.deepEqual(
    [...hotSettings].filter((key) => !live.has(key)),
    [],
  );
  assert.deepEqual(
    managedSettings.filter((key) => hotSettings.has(key)),
    [],
  );
});
