import { managedSettings } from './setting-classes.ts';

/**
 * A validation rule of the custom resource definition, in the expression language of the API server as Kubernetes 1.27
 * knows it. `at` is the path of the object it speaks about; '' is the Cluster itself, `*` every value of a map.
 */
export interface ValidationRule {
  readonly at: string;
  readonly rule: string;
  /** Names the field, says what is allowed and why (house decision 64). */
  readonly message: string;
}

const later = 'it comes with a later version';

const identityRules: readonly ValidationRule[] = [
  {
    at: '',
    rule: 'size(self.metadata.name) <= 40',
    message:
      'metadata.name may have at most 40 characters: names of pods, services and labels are made from it',
  },
  {
    at: '',
    rule: "!self.metadata.name.endsWith('-rw') && !self.metadata.name.endsWith('-ro') && !self.metadata.name.endsWith('-http')",
    message:
      "metadata.name may not end with '-rw', '-ro' or '-http': it would collide with a service of another Cluster",
  },
  {
    at: '',
    rule: "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    message:
      "metadata.name must start with a letter and hold only 'a-z', '0-9' and '-': services are named after it",
  },
  {
    at: '',
    rule: '!has(self.spec.bootstrap) || !has(self.spec.bootstrap.fromRelease) || self.spec.bootstrap.fromRelease.statefulSet == self.metadata.name',
    message:
      'spec.bootstrap.fromRelease.statefulSet must be metadata.name: members are found by their names',
  },
  {
    at: 'spec.clusterDomain',
    rule: 'self == oldSelf',
    message: 'spec.clusterDomain is immutable: it is part of every address of a member',
  },
  {
    at: 'spec.ports',
    rule: 'self == oldSelf',
    message: 'spec.ports is immutable: clients and addresses of members carry the ports',
  },
  {
    at: 'spec.ephemeral',
    rule: 'self == oldSelf',
    message: 'spec.ephemeral is immutable: data cannot move between a volume and none',
  },
  {
    at: 'spec',
    rule: 'self.tls.raft.enabled == oldSelf.tls.raft.enabled || self.update.allowDowntime',
    message:
      'spec.tls.raft.enabled changes only with spec.update.allowDowntime: members that speak TLS and members that do not are no group, so all restart at once',
  },
  {
    at: 'spec.tls.raft',
    rule: 'self.mutualAuth == oldSelf.mutualAuth',
    message: 'spec.tls.raft.mutualAuth is immutable: members check each other alike',
  },
  {
    at: 'spec',
    rule: 'has(self.clusterName) == has(oldSelf.clusterName) && (!has(self.clusterName) || self.clusterName == oldSelf.clusterName)',
    message: 'spec.clusterName is immutable: it is part of how members know each other',
  },
  ...presenceIsImmutable('spec.storage', 'raft', 'volumes of a StatefulSet are fixed'),
  ...presenceIsImmutable('spec', 'bootstrap', 'it says how the Cluster came to be'),
  {
    at: 'spec.bootstrap',
    rule: 'self == oldSelf',
    message: 'spec.bootstrap is immutable: it says how the Cluster came to be',
  },
  ...presenceIsImmutable('spec.storage', 'backups', 'volumes of a StatefulSet are fixed'),
  {
    at: 'spec.storage',
    rule: 'has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)',
    message: 'spec.storage.storageClassName is immutable: a volume cannot change its class',
  },
  {
    at: 'spec.storage',
    rule: 'self.accessMode == oldSelf.accessMode',
    message: 'spec.storage.accessMode is immutable: a volume cannot change its mode',
  },
];

/** A field that may neither appear nor disappear; a rule on the field itself does not run then. */
function presenceIsImmutable(at: string, field: string, why: string): readonly ValidationRule[] {
  return [
    {
      at,
      rule: `has(self.${field}) == has(oldSelf.${field})`,
      message: `${at}.${field} can be neither added nor removed later: ${why}`,
    },
  ];
}

/** Fields without effect in this version, refused when they differ from their default (house decision 60). */
const notYetRules: readonly ValidationRule[] = [
  notYet(
    'spec',
    'plugins',
    '!(has(self.plugins.gremlin) && self.plugins.gremlin.enabled) && !(has(self.plugins.postgres) && self.plugins.postgres.enabled) && !(has(self.plugins.mongo) && self.plugins.mongo.enabled) && !has(self.plugins.custom) && !(has(self.plugins.prometheus) && (has(self.plugins.prometheus.port) || has(self.plugins.prometheus.settings)))',
    'the server of this version has no plugins but redis and prometheus, which has neither port nor settings of its own',
    'leave the others out or set enabled to false',
  ),
  notYet(
    'spec.bootstrap',
    'fromVolumeSnapshots',
    '!has(self.fromVolumeSnapshots)',
    later,
    "make claims of the snapshots and name them in 'fromVolumes'",
  ),
];

function notYet(
  at: string,
  field: string,
  rule: string,
  reason: string,
  remedy: string,
): ValidationRule {
  return { at, rule, message: `${at}.${field} has no effect yet, ${reason}: ${remedy}` };
}

const settingRules: readonly ValidationRule[] = [
  {
    at: 'spec',
    rule: "!has(self.settings) || self.settings.all(k, k.startsWith('service.'))",
    message: "spec.settings takes full names of settings: every key must start with 'service.'",
  },
  {
    at: 'spec',
    rule: `!has(self.settings) || !self.settings.exists(k, k in [${managedSettings.map((key) => `'${key}'`).join(', ')}])`,
    message:
      'spec.settings may not hold names, ports, directories, the root password or cluster settings: the operator sets them from other fields',
  },
  {
    at: 'spec',
    rule: "!has(self.settings) || !self.settings.exists(k, k.startsWith('service.ha.tls.') || k.startsWith('service.ssl.'))",
    message: 'spec.settings may not hold service.ha.tls.* or service.ssl.*: use spec.tls',
  },
  {
    at: 'spec',
    rule: `!has(self.secretSettings) || self.secretSettings.all(s, s.key.startsWith('service.') && !(s.key in [${managedSettings.map((key) => `'${key}'`).join(', ')}]))`,
    message:
      "spec.secretSettings takes full names of settings ('service.*') that the operator does not set itself",
  },
];

const shapeRules: readonly ValidationRule[] = [
  {
    at: 'spec.update',
    rule: "self.strategy != 'Recreate' || self.allowDowntime",
    message:
      "spec.update.strategy 'Recreate' needs spec.update.allowDowntime: all members restart at once",
  },
  {
    at: 'spec',
    rule: '!has(self.members) || self.members.all(m, m.ordinal < self.replicas)',
    message: 'spec.members: every ordinal must be below spec.replicas',
  },
  {
    at: 'spec',
    rule: "!has(self.members) || size(self.members) < self.replicas || self.members.exists(m, m.role != 'replica')",
    message: "spec.members: at least one voter must have the role 'any', or nobody could lead",
  },
  {
    at: 'spec.tls.issuer',
    rule: '[has(self.selfManaged), has(self.secretRef), has(self.certManager)].filter(x, x).size() == 1',
    message: "spec.tls.issuer takes exactly one of 'selfManaged', 'secretRef' and 'certManager'",
  },
  {
    at: 'spec.bootstrap',
    rule: '[has(self.empty), has(self.fromBackup), has(self.fromVolumes), has(self.fromVolumeSnapshots), has(self.fromRelease)].filter(x, x).size() == 1',
    message:
      "spec.bootstrap takes exactly one of 'empty', 'fromBackup', 'fromVolumes', 'fromVolumeSnapshots' and 'fromRelease'",
  },
  {
    at: 'spec.bootstrap.fromBackup',
    rule: 'has(self.backupRef) != has(self.source)',
    message:
      "spec.bootstrap.fromBackup takes exactly one of 'backupRef' and 'source': archives come from one place",
  },
  {
    at: 'spec.tls',
    rule: '!has(self.issuer) || !has(self.issuer.certManager) || self.renewBeforeDays < self.certDays',
    message:
      'spec.tls.renewBeforeDays must be less than certDays with issuer.certManager: cert-manager refuses it otherwise',
  },
  {
    at: 'spec.ports',
    rule: 'self.http != self.https && self.http != self.raft && self.https != self.raft',
    message: 'spec.ports: http, https and raft must be three different ports',
  },
  {
    at: 'spec',
    rule: '!has(self.plugins.redis) || !self.plugins.redis.enabled || !((has(self.plugins.redis.port) ? self.plugins.redis.port : 6379) in [self.ports.http, self.ports.https, self.ports.raft])',
    message: 'spec.plugins.redis.port must differ from the ports in spec.ports',
  },
  {
    at: 'spec',
    rule: "!has(self.plugins.redis) || !has(self.plugins.redis.settings) || self.plugins.redis.settings.all(k, k.matches('^[a-zA-Z]+$') && !(k in ['host', 'port']))",
    message:
      "spec.plugins.redis.settings takes names of settings below 'service.redis.' without that prefix, such as maxConnections; the port stands in spec.plugins.redis.port",
  },
  {
    at: 'spec.electionTimeout',
    rule: 'self.minMs < self.maxMs',
    message: 'spec.electionTimeout.minMs must be less than maxMs',
  },
  {
    at: 'spec.backup.directory',
    rule: "!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)')",
    message:
      "spec.backup.directory must be relative and without '..': backups stay below the server's root",
  },
  {
    at: 'spec.backup.defaults.schedule',
    rule: "self.type != 'cron' || has(self.expression)",
    message: "spec.backup.defaults.schedule.expression is needed when type is 'cron'",
  },
  {
    at: 'spec.backup.databases.*.schedule',
    rule: "!has(self.type) || self.type != 'cron' || has(self.expression)",
    message: "spec.backup.databases.<name>.schedule.expression is needed when type is 'cron'",
  },
  ...['spec.backup.defaults', 'spec.backup.databases.*'].flatMap((at) => [
    timeOfDay(at, 'start'),
    timeOfDay(at, 'end'),
  ]),
  {
    at: 'spec',
    rule: "self.deletionPolicy != 'BackupThenDelete' || !self.ephemeral",
    message: "spec.deletionPolicy 'BackupThenDelete' needs a volume: spec.ephemeral must be false",
  },
  {
    at: 'spec',
    rule: 'self.serviceAccount.create || has(self.serviceAccount.name)',
    message: 'spec.serviceAccount.name is needed when create is false',
  },
];

function timeOfDay(at: string, field: 'start' | 'end'): ValidationRule {
  const name = `${at.replace('*', '<name>')}.schedule.timeWindow.${field}`;
  return {
    at: `${at}.schedule.timeWindow`,
    rule: `self.${field}.matches('^([01][0-9]|2[0-3]):[0-5][0-9]$')`,
    message: `${name} must be a time of day, HH:mm`,
  };
}

/** Every rule of the Cluster definition. */
export const clusterRules: readonly ValidationRule[] = [
  ...identityRules,
  ...notYetRules,
  ...settingRules,
  ...shapeRules,
];
