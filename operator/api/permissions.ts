/**
 * What the operator may do, and nothing else: the chart renders these rules and a test compares them with the calls that all
 * flows make. `whole` rules count in the scope of the installation (cluster or namespaces); `own` ones only in the
 * operator's namespace; `optional` ones may be left out at the price of the feature they name.
 */
export interface PermissionRule {
  readonly scope: 'whole' | 'own' | 'optional' | 'monitoring';
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly why: string;
}

export const operatorPermissions: readonly PermissionRule[] = [
  {
    scope: 'whole',
    group: 'polyad.io',
    resources: ['clusters'],
    verbs: ['get', 'list', 'watch', 'patch'],
    why: 'patch sets and removes the own finalizer; spec and metadata are never written otherwise; get finds those that a selector hides',
  },
  {
    scope: 'whole',
    group: 'polyad.io',
    resources: ['clusters/status'],
    verbs: ['patch'],
    why: 'the status',
  },
  {
    scope: 'whole',
    group: 'polyad.io',
    resources: ['clusters/finalizers'],
    verbs: ['update'],
    why: 'owner references that block deletion, where the API server enforces that right',
  },
  {
    scope: 'whole',
    group: 'polyad.io',
    resources: ['backups'],
    verbs: ['list', 'watch', 'create', 'patch', 'delete'],
    why: 'backups as they are asked for, and those of schedules; patch sets and removes the own finalizer',
  },
  {
    scope: 'whole',
    group: 'polyad.io',
    resources: ['restores'],
    verbs: ['list', 'watch', 'create'],
    why: 'what to restore; spec.bootstrap.fromBackup makes one',
  },
  {
    scope: 'whole',
    group: 'polyad.io',
    resources: ['scheduledbackups'],
    verbs: ['list', 'watch'],
    why: 'when backups are made',
  },
  {
    scope: 'whole',
    group: 'polyad.io',
    resources: ['backups/status', 'restores/status', 'scheduledbackups/status'],
    verbs: ['patch'],
    why: 'what became of a backup, a restore or a schedule',
  },
  {
    scope: 'whole',
    group: 'apps',
    resources: ['statefulsets'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    why: 'members; delete makes one anew around its running pods when volumes grow',
  },
  {
    scope: 'whole',
    group: '',
    resources: ['services', 'secrets', 'serviceaccounts'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    why: 'owned objects; get finds strangers under their names',
  },
  {
    scope: 'whole',
    group: '',
    resources: ['configmaps'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    why: 'files of the members; delete is never called: it is asked of whoever gives those of a release an owner',
  },
  {
    scope: 'whole',
    group: 'networking.k8s.io',
    resources: ['networkpolicies'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    why: 'spec.networkPolicy',
  },
  {
    scope: 'whole',
    group: 'batch',
    resources: ['jobs'],
    verbs: ['list', 'watch', 'create', 'patch', 'delete'],
    why: 'tries an image before a member restarts with it; moves archives of backups. They are collected with their owners; delete takes one away whose result is lost',
  },
  {
    scope: 'whole',
    group: 'policy',
    resources: ['poddisruptionbudgets'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    why: 'spec.disruption.pdb',
  },
  {
    scope: 'whole',
    group: '',
    resources: ['pods'],
    verbs: ['get', 'list', 'watch', 'patch', 'delete'],
    why: 'role labels; replacing members that do not run',
  },
  {
    scope: 'whole',
    group: '',
    resources: ['pods/eviction'],
    verbs: ['create'],
    why: 'restarts that respect budgets',
  },
  {
    scope: 'whole',
    group: '',
    resources: ['persistentvolumeclaims'],
    verbs: ['list', 'watch', 'patch', 'delete'],
    why: 'growth; deletion with deletionPolicy Delete',
  },
  {
    scope: 'whole',
    group: 'events.k8s.io',
    resources: ['events'],
    verbs: ['create', 'patch'],
    why: 'events about Clusters',
  },
  {
    scope: 'whole',
    group: '',
    resources: ['namespaces'],
    verbs: ['get'],
    why: 'a namespace that is being deleted gets no last backup',
  },
  {
    scope: 'monitoring',
    group: 'monitoring.coreos.com',
    resources: ['podmonitors', 'servicemonitors', 'prometheusrules'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    why: 'spec.monitoring; in the scope of the installation, and may be left out at the price of it',
  },
  {
    scope: 'whole',
    group: 'cert-manager.io',
    resources: ['certificates'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    why: 'spec.tls.issuer.certManager, where there is cert-manager; delete as for configmaps',
  },
  {
    scope: 'own',
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: ['get', 'create', 'update'],
    why: 'one of several operators acts',
  },
  {
    scope: 'optional',
    group: '',
    resources: ['nodes'],
    verbs: ['list', 'watch'],
    why: 'zones in the status, members on lost nodes',
  },
  {
    scope: 'optional',
    group: 'storage.k8s.io',
    resources: ['storageclasses'],
    verbs: ['get'],
    why: 'says before trying that volumes cannot grow',
  },
];
