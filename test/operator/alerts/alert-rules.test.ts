import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { memberAlerts, operatorAlerts } from '../../../operator/resources/alert-rules.ts';
import { sourceFiles } from '#test/tidy/source-tree.ts';
import { fires, type Series } from './prometheus.ts';

// Who is woken when: a healthy group of three wakes nobody, each fault exactly those that are about it.

const scope = { namespace: 'shop', name: 'orders' };
const nowSeconds = 1_800_000_000;
const daySeconds = 86_400;
const rules = [
  ...memberAlerts(scope),
  ...operatorAlerts(scope, {
    backupAgeSeconds: 2 * daySeconds,
    certificateSeconds: 15 * daySeconds,
  }),
] as unknown as readonly { readonly alert: string; readonly expr: string }[];

const of = (
  name: string,
  value: number,
  labels: Readonly<Record<string, string>> = {},
): Series => ({
  name,
  labels: { namespace: 'shop', ...labels },
  value,
});

interface Group {
  readonly up?: readonly number[];
  readonly leads?: readonly number[];
  readonly applied?: readonly number[];
  readonly healthy?: number;
  readonly available?: number;
  readonly freeShare?: number;
  readonly certificateDays?: number;
  readonly backupDays?: number;
  readonly diverged?: number;
}

function seriesOf(group: Group): readonly Series[] {
  const { up = [1, 1, 1], leads = [0, 1, 0], applied = [99_990, 100_000, 100_000] } = group;
  const { healthy = 3, available = 1, freeShare = 0.5, diverged = 0 } = group;
  const { certificateDays = 60, backupDays = 0.5 } = group;
  const members = up.flatMap((isUp, ordinal) => {
    const pod = { pod: `orders-${ordinal}` };
    const alive = [
      of('polyad_ha_is_leader', leads[ordinal] ?? 0, pod),
      of('polyad_ha_voters', 3, pod),
      of('polyad_ha_commit_index', Math.max(...applied), pod),
      of('polyad_ha_applied_index', applied[ordinal] ?? 0, pod),
      of('polyad_ha_quarantined_databases', ordinal === 0 ? diverged : 0, pod),
    ];
    return [of('up', isUp, pod), ...(isUp === 1 ? alive : [])];
  });
  const claim = { persistentvolumeclaim: 'data-orders-0' };
  const own = { name: 'orders' };
  return [
    ...members,
    of('kubelet_volume_stats_available_bytes', freeShare * 1e9, claim),
    of('kubelet_volume_stats_capacity_bytes', 1e9, claim),
    of('polyad_cluster_available', available, own),
    of('polyad_cluster_ready', available, own),
    of('polyad_cluster_voters', 3, own),
    of('polyad_cluster_healthy_voters', healthy, own),
    of(
      'polyad_cluster_certificate_expiry_timestamp_seconds',
      nowSeconds + certificateDays * daySeconds,
      { ...own, certificate: 'orders-tls' },
    ),
    of(
      'polyad_cluster_last_backup_success_timestamp_seconds',
      nowSeconds - backupDays * daySeconds,
      own,
    ),
    // Others of the namespace, all of them ill.
    of('up', 0, { pod: 'orders-web-0' }),
    of('polyad_cluster_available', 0, { name: 'bills' }),
    of('kubelet_volume_stats_available_bytes', 0, { persistentvolumeclaim: 'data-bills-0' }),
    of('kubelet_volume_stats_capacity_bytes', 1, { persistentvolumeclaim: 'data-bills-0' }),
  ];
}

const cases: readonly (readonly [Group, readonly string[]])[] = [
  [{}, []],
  [{ leads: [0, 0, 0], available: 0 }, ['NoLeader', 'ClusterUnavailable', 'ClusterNotReady']],
  [{ up: [1, 1, 0], healthy: 2 }, ['MemberDown', 'ToleranceReduced', 'VotersMissing']],
  [{ applied: [80_000, 100_000, 100_000] }, ['MemberLags']],
  [{ freeShare: 0.1 }, ['VolumeFilling']],
  [{ freeShare: 0.01 }, ['VolumeFilling', 'VolumeFull']],
  [{ certificateDays: 10 }, ['CertificateExpires']],
  [{ certificateDays: -1 }, ['CertificateExpires']],
  [{ backupDays: 3 }, ['BackupOld']],
  [{ diverged: 1 }, ['DatabaseDiverged']],
];

test('each fault wakes those that are about it, and a healthy group nobody', () => {
  for (const [group, expected] of cases) {
    const firing = rules.filter(({ expr }) => fires(expr, seriesOf(group), nowSeconds));
    assert.deepEqual(
      firing.map(({ alert }) => alert.replace('Polyad', '')).sort(),
      [...expected].sort(),
      JSON.stringify(group),
    );
  }
});

test('one member without replication, backups or certificates wakes nobody', () => {
  const lonely = operatorAlerts(scope, {
    backupAgeSeconds: undefined,
    certificateSeconds: undefined,
  }) as unknown as typeof rules;
  assert.equal(
    lonely.some(({ alert }) => /Backup|Certificate/.test(alert)),
    false,
  );
  const series = [
    of('up', 1, { pod: 'orders-0' }),
    of('polyad_cluster_available', 1, { name: 'orders' }),
    of('polyad_cluster_ready', 1, { name: 'orders' }),
  ];
  for (const { alert, expr } of rules) assert.equal(fires(expr, series, nowSeconds), false, alert);
});

test('every metric of a rule and of the dashboard is told by somebody', () => {
  const dashboard = readFileSync(
    new URL('../../../chart/files/dashboard.json', import.meta.url),
    'utf8',
  );
  const asked = [...rules.map(({ expr }) => expr), dashboard].join(' ');
  const names = new Set([...asked.matchAll(/\bpolyad_[a-z_]+/g)].map(([name]) => name));
  const sources = [...sourceFiles('server'), ...sourceFiles('operator')]
    .filter(({ path }) => !path.includes('alert-rules'))
    .map(({ text }) => text)
    .join('\n');
  const unknown = [...names].filter((name) => {
    const plain = name.replace(/^polyad_/, '').replace(/_(total|bucket|sum|count)$/, '');
    return ![name, plain].some((word) => sources.includes(`'${word}'`));
  });
  assert.deepEqual(unknown, []);
});
