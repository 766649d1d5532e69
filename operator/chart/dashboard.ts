/* The Grafana dashboard of the chart. One instance shows any Cluster or release, chosen by namespace and name. */

const members = '{namespace="$namespace",pod=~"$cluster-[0-9]+"}';
const cluster = '{namespace="$namespace",name="$cluster"}';
const claims =
  '{namespace="$namespace",persistentvolumeclaim=~"(data|raft|backups)-$cluster-[0-9]+"}';

interface Panel {
  readonly title: string;
  readonly type: 'stat' | 'timeseries';
  readonly unit?: string;
  readonly of: readonly (readonly [legend: string, expr: string])[];
}

const rate = (metric: string) => `rate(${metric}${members}[5m])`;
const quantile = (metric: string) =>
  `histogram_quantile(0.99, sum by (le, pod) (rate(${metric}_bucket${members}[5m])))`;

const panels: readonly Panel[] = [
  { title: 'Ready', type: 'stat', of: [['', `max(polyad_cluster_ready${cluster})`]] },
  { title: 'Takes writes', type: 'stat', of: [['', `max(polyad_cluster_available${cluster})`]] },
  {
    title: 'Members that may fail',
    type: 'stat',
    of: [['', `max(polyad_cluster_fault_tolerance${cluster})`]],
  },
  {
    title: 'Since the last backup',
    type: 'stat',
    unit: 's',
    of: [['', `time() - max(polyad_cluster_last_backup_success_timestamp_seconds${cluster})`]],
  },
  {
    title: 'Until a certificate ends',
    type: 'stat',
    unit: 's',
    of: [['', `min(polyad_cluster_certificate_expiry_timestamp_seconds${cluster}) - time()`]],
  },
  {
    title: 'Under way',
    type: 'stat',
    of: [['{{type}}', `polyad_cluster_operation_running${cluster}`]],
  },
  {
    title: 'Statements per second',
    type: 'timeseries',
    unit: 'reqps',
    of: [['{{pod}}', `sum by (pod) (${rate('polyad_queries_total')})`]],
  },
  {
    title: 'Time of statements, 99 of 100',
    type: 'timeseries',
    unit: 's',
    of: [['{{pod}}', quantile('polyad_query_seconds')]],
  },
  {
    title: 'Commits per second',
    type: 'timeseries',
    unit: 'ops',
    of: [['{{pod}}', rate('polyad_transactions_committed_total')]],
  },
  {
    title: 'Time of commits, 99 of 100',
    type: 'timeseries',
    unit: 's',
    of: [['{{pod}}', quantile('polyad_commit_seconds')]],
  },
  {
    title: 'Who leads',
    type: 'timeseries',
    of: [['{{pod}}', `polyad_ha_is_leader${members}`]],
  },
  {
    title: 'Entries behind',
    type: 'timeseries',
    of: [
      [
        '{{pod}}',
        `scalar(max(polyad_ha_commit_index${members})) - polyad_ha_applied_index${members}`,
      ],
    ],
  },
  {
    title: 'Elections',
    type: 'timeseries',
    of: [['{{pod}}', `increase(polyad_ha_elections_total${members}[5m])`]],
  },
  {
    title: 'Room on volumes',
    type: 'timeseries',
    unit: 'percentunit',
    of: [
      [
        '{{persistentvolumeclaim}}',
        `kubelet_volume_stats_available_bytes${claims} / kubelet_volume_stats_capacity_bytes${claims}`,
      ],
    ],
  },
  {
    title: 'Resident memory',
    type: 'timeseries',
    unit: 'bytes',
    of: [['{{pod}}', `polyad_process_resident_memory_bytes${members}`]],
  },
  {
    title: 'Event loop lag',
    type: 'timeseries',
    unit: 's',
    of: [['{{pod}}', `polyad_nodejs_eventloop_lag_seconds${members}`]],
  },
];

const datasource = { type: 'prometheus', uid: '$datasource' };
const columns = 24;
const sizes = { stat: { w: 4, h: 4 }, timeseries: { w: 12, h: 8 } } as const;

export function dashboard(): object {
  let [x, y] = [0, 0];
  const placed = panels.map(({ title, type, unit, of }, at) => {
    const { w, h } = sizes[type];
    const gridPos = { x, y, w, h };
    x += w;
    if (x >= columns) [x, y] = [0, y + h];
    return {
      id: at + 1,
      type,
      title,
      datasource,
      gridPos,
      ...(unit === undefined ? undefined : { fieldConfig: { defaults: { unit }, overrides: [] } }),
      targets: of.map(([legendFormat, expr], place) => ({
        refId: String.fromCharCode(65 + place),
        datasource,
        expr,
        legendFormat,
      })),
    };
  });
  const up = 'up{namespace="$namespace"}';
  return {
    uid: 'polyad',
    title: 'Polyad',
    tags: ['polyad', 'database'],
    schemaVersion: 39,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus' },
        variable('namespace', 'label_values(polyad_build_info, namespace)'),
        // The name of a Cluster or a release is that of its pods without their number.
        variable('cluster', `query_result(${up})`, '/pod="([a-z0-9-]+)-[0-9]+"/'),
      ],
    },
    panels: placed,
  };
}

function variable(name: string, query: string, regex = ''): object {
  return { name, type: 'query', datasource, query, regex, refresh: 2, sort: 1 };
}
