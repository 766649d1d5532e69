import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { rootDirectory } from '#test/tidy/source-tree.ts';
import { chartFiles } from '../../operator/chart/chart-files.ts';
import { chartValues } from '../../operator/chart/values-schema.ts';

const read = (path: string) => readFileSync(join(rootDirectory, path), 'utf8');
const values = parse(read('chart/values.yaml')) as Readonly<Record<string, unknown>>;

describe('the chart', () => {
  it('has generated files that are current (npm run generate)', () => {
    for (const { path, content } of chartFiles())
      assert.equal(readFileSync(path, 'utf8'), content, path);
  });

  it('has default values that its schema takes', () => {
    const { success, error } = chartValues.safeParse(values);
    assert.equal(success, true, String(error));
  });

  it('has the version of the package and of the image', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    const chart = parse(read('chart/Chart.yaml')) as { version: string; appVersion: string };
    assert.equal(chart.appVersion, version);
    assert.equal(chart.version.startsWith(version), true, chart.version);
    assert.match(read('Dockerfile'), new RegExp(`\\nARG VERSION=${version}\\n`));
  });

  it('has every key of the contract', () => {
    const keys = [
      'image.tag',
      'image.pullPolicy',
      'imagePullSecrets',
      'nameOverride',
      'fullnameOverride',
      'replicaCount',
      'polyad.credentials.rootPassword.secret.name',
      'polyad.credentials.rootPassword.secret.key',
      'polyad.databaseDirectory',
      'polyad.extraCommands',
      'polyad.extraEnvironment',
      'polyad.plugins',
      'service.http.type',
      'service.http.port',
      'service.rpc.port',
      'ingress.enabled',
      'ingress.className',
      'ingress.annotations',
      'ingress.hosts',
      'ingress.tls',
      'persistence.enabled',
      'persistence.size',
      'persistence.storageClass',
      'resources',
      'livenessProbe',
      'readinessProbe',
      'autoscaling.enabled',
      'autoscaling.minReplicas',
      'autoscaling.maxReplicas',
      'autoscaling.targetCPUUtilizationPercentage',
      'podSecurityContext',
      'securityContext',
      'serviceAccount.create',
      'serviceAccount.name',
      'serviceAccount.annotations',
      'nodeSelector',
      'tolerations',
      'affinity',
      'podAnnotations',
      'podLabels',
      'networkPolicy.enabled',
      'extraManifests',
      'volumes',
      'volumeMounts',
      'volumeClaimTemplates',
    ];
    const missing = keys.filter((key) => {
      let place: unknown = values;
      for (const word of key.split('.')) {
        if (typeof place !== 'object' || place === null || !(word in place)) return true;
        place = (place as Readonly<Record<string, unknown>>)[word];
      }
      return false;
    });
    assert.deepEqual(missing, []);
  });
});
