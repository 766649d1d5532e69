/*
 * What `kubectl explain` says of each field of `Cluster.spec`; what a change does stands in `changes.ts` and its default in the
 * schema, both are added. `*` in a path stands for one name. A description in the schema itself wins.
 */

const servicePart = {
  '': 'A Service',
  port: 'Port of the Service; the HTTP port of the members when absent',
  annotations: 'Annotations of the Service',
  labels: 'Labels of the Service',
  loadBalancerClass: 'Which load balancer serves it, for type LoadBalancer',
  loadBalancerSourceRanges: 'Networks that the load balancer lets in, in CIDR notation',
  externalTrafficPolicy:
    'Whether a node sends traffic to members elsewhere (Cluster) or not (Local)',
  type: 'How the Service is reached',
} as const;

const monitorPart = {
  enabled: 'Whether it is made; it needs the kinds of the Prometheus operator',
  interval: 'How often, as Prometheus writes durations',
  labels: 'Labels that the Prometheus of your cluster selects by',
} as const;

function parts(at: string, described: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(described).map(([name, text]) => [name === '' ? at : `${at}.${name}`, text]),
  );
}

const schedule = (at: string): Record<string, string> =>
  parts(at, {
    enabled: 'Whether databases are backed up by themselves',
    runOnServer: 'Which member makes the backups: $leader, $all or the name of one',
    schedule: 'When backups are made',
    'schedule.type': 'Every so many minutes (frequency) or at times (cron)',
    'schedule.frequencyMinutes': 'Minutes between two backups, for type frequency',
    'schedule.timeWindow': 'Time of day in which backups may begin; always when absent',
    'schedule.timeWindow.start': 'From this time on, HH:mm',
    'schedule.timeWindow.end': 'Until this time, HH:mm',
    retention: 'Which backups are kept',
    'retention.maxFiles': 'Number of backups of a database that are kept',
    'retention.tiered': 'How many backups of each age are kept',
    'retention.tiered.hourly': 'Number of backups kept of the last hours, one an hour',
    'retention.tiered.daily': 'Number of backups kept of the last days, one a day',
    'retention.tiered.weekly': 'Number of backups kept of the last weeks, one a week',
    'retention.tiered.monthly': 'Number of backups kept of the last months, one a month',
    'retention.tiered.yearly': 'Number of backups kept of the last years, one a year',
  });

const identity = {
  spec: 'What is asked for',
  'spec.imagePullPolicy': 'When nodes pull the image',
  'spec.imagePullSecrets': 'Secrets with which nodes pull the image',
  'spec.imagePullSecrets.name': 'Name of a Secret in the namespace of the Cluster',
  'spec.replicas': 'Number of voting members, 1 to 9',
  'spec.readReplicas':
    'Members that replicate and never vote; their pods follow those of the voters',
  'spec.members': 'What single members may be; the others may be anything',
  'spec.members.ordinal': 'Number at the end of the name of the pod',
  'spec.members.role': 'replica: it votes and never leads; any: it may lead',
  'spec.members.priority': 'The one with the highest is preferred when a leader is chosen',
  'spec.quorum': 'How many voters must hold a write before it is acknowledged',
  'spec.readConsistency': 'What reads on followers may lag behind when a request says nothing',
  'spec.electionTimeout': 'How long a follower waits for its leader before it calls an election',
  'spec.electionTimeout.minMs': 'Shortest wait, in milliseconds; less than maxMs',
  'spec.electionTimeout.maxMs': 'Longest wait, in milliseconds',
  'spec.readiness': 'When a member counts as ready',
  'spec.readiness.requiresHA': 'Only as part of a group that has a leader',
  'spec.readiness.maxLag': 'Entries of the log that it may be behind',
} as const;

const configuration = {
  'spec.secretSettings': 'Settings of the server whose values stand in Secrets',
  'spec.secretSettings.key': 'Full name of the setting, service.*',
  'spec.secretSettings.secretKeyRef': 'Where its value stands',
  'spec.secretSettings.secretKeyRef.name': 'Name of the Secret',
  'spec.secretSettings.secretKeyRef.key': 'Key in the Secret',
  'spec.extraArgs': 'Further words of the command line of the server',
  'spec.env': 'Further variables of the server container',
  'spec.env.name': 'Name of the variable',
  'spec.env.value': 'Its value',
  'spec.env.valueFrom': 'Where its value comes from, as in a pod',
  'spec.envFrom': 'ConfigMaps and Secrets whose entries are variables, as in a pod',
  'spec.plugins': 'Plugins of the server; this version has redis and prometheus',
  'spec.plugins.gremlin': 'Not available in this version',
  'spec.plugins.postgres': 'Not available in this version',
  'spec.plugins.mongo': 'Not available in this version',
  'spec.plugins.redis': 'The key-value protocol of Redis, on a port of its own',
  'spec.plugins.prometheus': 'Metrics at /metrics of the HTTP port',
  'spec.plugins.*.enabled': 'Whether the server starts it',
  'spec.plugins.*.port':
    'Port of the members and of their Services; the usual one of the protocol when absent',
  'spec.plugins.*.settings':
    'Its settings by their names after service.<plugin>., such as maxConnections',
  'spec.plugins.custom': 'Plugins of your own; not available in this version',
  'spec.plugins.custom.name': 'Name of the plugin',
  'spec.plugins.custom.module': 'Module that holds it',
  'spec.plugins.custom.port': 'Port of the members and of their Services',
  'spec.plugins.custom.settings': 'Its settings by name',
  'spec.mcp':
    'Configuration of the tool server (MCP), as its endpoint takes it; not managed when absent',
  'spec.ports': 'Ports of the members',
  'spec.ports.http': 'HTTP API and console',
  'spec.ports.https': 'The same over TLS, when spec.tls.http is enabled',
  'spec.ports.raft': 'Replication between members',
} as const;

const security = {
  'spec.auth': 'Credentials',
  'spec.auth.rootPassword.secretName': 'Name of the Secret',
  'spec.auth.rootPassword.key': 'Key in the Secret; 8 to 256 characters',
  'spec.auth.clusterToken':
    'Secret that holds the token that members know each other by; the operator makes one when absent. A changed one takes over in three steps of three minutes, without a restart',
  'spec.auth.clusterToken.secretName': 'Name of the Secret',
  'spec.auth.clusterToken.key': 'Key in the Secret',
  'spec.tls': 'Certificates',
  'spec.tls.raft': 'TLS between members',
  'spec.tls.raft.enabled': 'Whether members speak TLS with each other',
  'spec.tls.raft.mutualAuth': 'Whether both sides show a certificate',
  'spec.tls.http': 'TLS for clients',
  'spec.tls.http.enabled': 'Whether members serve HTTPS beside HTTP',
  'spec.tls.issuer':
    'Where certificates come from, exactly one; the operator signs them when absent',
  'spec.tls.issuer.selfManaged': 'The operator signs them with an authority of this Cluster',
  'spec.tls.issuer.secretRef': 'A Secret of yours with tls.crt, tls.key and ca.crt',
  'spec.tls.issuer.secretRef.name': 'Name of the Secret',
  'spec.tls.issuer.certManager':
    'The operator makes a Certificate for cert-manager, which fills the Secret NAME-tls and renews it; its issuer must give ca.crt',
  'spec.tls.issuer.certManager.issuerRef': 'Which issuer of cert-manager signs',
  'spec.tls.issuer.certManager.issuerRef.name': 'Name of the issuer',
  'spec.tls.issuer.certManager.issuerRef.kind':
    'Issuer, of the same namespace, when absent; or ClusterIssuer',
  'spec.tls.issuer.certManager.issuerRef.group': 'cert-manager.io when absent',
  'spec.tls.caDays': 'Days for which the authority is valid',
  'spec.tls.certDays': 'Days for which a certificate is valid',
  'spec.tls.renewBeforeDays': 'Days before its end at which a certificate is made anew',
  'spec.tls.extraDnsNames': 'Further names that certificates are valid for',
} as const;

const storage = {
  'spec.storage': 'Volumes of the members',
  'spec.storage.accessMode': 'Access mode of the volumes',
  'spec.storage.raft':
    'A volume of its own for the log of replication; the data volume when absent',
  'spec.storage.whenScaled': 'What becomes of the volume of a member that is no longer asked for',
  'spec.storage.*.size': 'Size of the volume; it can only grow',
  'spec.storage.*.storageClassName': 'The default class when absent',
  'spec.deletionPolicy':
    'What becomes of the data when the Cluster is deleted: kept, deleted, or backed up and deleted',
  'spec.backup.enabled': 'Whether the scheduler runs at all',
  'spec.backup.directory': "Where backups are written, relative to the server's root",
  'spec.backup.defaults': 'What holds for every database',
  'spec.backup.databases': 'What is different for single databases, by their name',
  'spec.backup.databases.*': 'What is different for this database; the rest is that of defaults',
  ...schedule('spec.backup.defaults'),
  ...schedule('spec.backup.databases.*'),
} as const;

const network = {
  'spec.services': 'Services by which clients reach the members',
  ...parts('spec.services.*', servicePart),
  'spec.services.http': 'Service <name>-http: every ready member; right for every request',
  'spec.services.readWrite': 'Service <name>-rw: the leader, which saves writers a hop',
  'spec.services.readOnly': 'Service <name>-ro: the followers, which keeps readers off the leader',
  'spec.services.*.enabled': 'Whether it is made',
  'spec.networkPolicy': 'Who may reach the members, where the network enforces policies',
  'spec.networkPolicy.enabled': 'Whether policies are made',
  'spec.networkPolicy.extraIngress':
    'Further rules of the policy of clients, as in a NetworkPolicy',
  'spec.monitoring': 'Objects of the Prometheus operator',
  'spec.monitoring.podMonitor': 'Scrapes each member',
  'spec.monitoring.serviceMonitor': 'Scrapes the members through Service <name>-http',
  'spec.monitoring.prometheusRule': 'Alert rules of this Cluster',
  ...parts('spec.monitoring.*', monitorPart),
} as const;

const upkeep = {
  'spec.update': 'How changes reach the members',
  'spec.update.strategy':
    'LeaderLast: one after the other; OnDelete: when you delete a pod; Recreate: all at once',
  'spec.update.minReadySeconds':
    'Seconds that a restarted member must stay ready before the next one',
  'spec.update.progressDeadlineSeconds':
    'Seconds until a change that does not get ready is given up, or taken back',
  'spec.update.autoRollback':
    'Whether an image that does not get ready is taken back, unless the one before might not read what it wrote',
  'spec.update.canarySoakSeconds':
    'Seconds that the first updated member must run before the others follow',
  'spec.update.backupFirst': 'Whether every database is backed up before another image gets at it',
  'spec.update.verify': 'Whether replicas are compared after an upgrade',
  'spec.update.verifyMaxBytes': 'Databases above this size are not compared',
  'spec.update.tolerateUnhealthy':
    'Members that may be unhealthy while another is restarted, with five voters or more',
  'spec.update.rollTemplate':
    'Whether members restart for what only a newer operator renders differently',
  'spec.update.paused': 'Holds restarts; everything else goes on',
  'spec.update.maintenanceWindows': 'Restarts wait for one of these',
  'spec.update.maintenanceWindows.durationMinutes': 'How long the window is open, in minutes',
  'spec.update.allowDowntime': 'Permits changes that need all members to stop at once',
  'spec.disruption': 'What others may do to the pods',
  'spec.disruption.pdb': 'PodDisruptionBudget of the voters; none for a single member',
  'spec.disruption.pdb.enabled': 'Whether it is made',
  'spec.disruption.pdb.unhealthyPodEvictionPolicy':
    'Whether pods that are not ready may be evicted in any case',
  'spec.recovery': 'What happens when something is lost',
  'spec.recovery.lostVolume':
    'Whether a member whose volume is gone is rebuilt by itself or after approval',
  'spec.recovery.lostVolumeAfterSeconds': 'Seconds to wait before it is rebuilt by itself',
  'spec.recovery.nodeGone': 'Whether a pod on a node that is gone for good is removed by force',
  'spec.recovery.quorum':
    'Approval of one loss of the majority, by its token: all members stop, the survivor goes on alone, the others come back as new members with their old data set aside. What only they held is lost',
  'spec.recovery.quorum.acknowledge': 'Token of the incident, from status.recovery',
  'spec.recovery.quorum.survivor': 'Member whose data go on, one of status.recovery.candidates',
} as const;

const pod = {
  'spec.resources': 'Resources of the server container',
  'spec.resources.requests': 'What a node must have free',
  'spec.resources.limits': 'What it may use at most; the heap follows the limit of memory',
  'spec.nodeSelector': 'Labels that a node must have',
  'spec.tolerations': 'Taints of nodes that are no hindrance',
  'spec.tolerations.key': 'Key of the taint; every one when absent',
  'spec.tolerations.operator': 'How key and value are compared',
  'spec.tolerations.value': 'Value of the taint',
  'spec.tolerations.effect': 'Effect of the taint; every one when absent',
  'spec.tolerations.tolerationSeconds': 'Seconds for which NoExecute is no hindrance',
  'spec.affinity': 'Affinity of the pods as a whole; replaces what antiAffinity makes',
  'spec.antiAffinity': 'Whether members of this Cluster keep to different nodes',
  'spec.topologySpreadConstraints': 'How pods spread; over zones where possible when absent',
  'spec.priorityClassName': 'Priority class of the pods',
  'spec.podSecurityContext': 'Security context of the pods; replaces a restricted one',
  'spec.securityContext': 'Security context of the containers; replaces a restricted one',
  'spec.serviceAccount': 'Service account of the pods; its token is never mounted',
  'spec.serviceAccount.create': 'Whether one is made',
  'spec.serviceAccount.name': 'Its name; that of the Cluster when absent',
  'spec.serviceAccount.annotations': 'Its annotations',
  'spec.podMetadata': 'Labels and annotations of the pods',
  'spec.podMetadata.labels': 'Further labels of the pods',
  'spec.podMetadata.annotations': 'Further annotations of the pods',
  'spec.volumes': 'Further volumes of the pods, as in a pod',
  'spec.volumeMounts': 'Where the server container mounts them, as in a pod',
  'spec.initContainers':
    'Containers that run after the volume guard and before the server, as in a pod',
  'spec.sidecars': 'Containers beside the server, as in a pod',
  'spec.terminationGracePeriodSeconds': 'Seconds that a member has to end',
  'spec.probes': 'Probes of the server container; one that is given replaces ours as a whole',
  'spec.probes.startup': 'Whether it has started, as in a pod',
  'spec.probes.liveness': 'Whether it has to be restarted, as in a pod',
  'spec.probes.readiness': 'Whether it takes requests, as in a pod',
  'spec.heapPercent': 'Percent of the limit of memory that the heap may take',
  'spec.inheritedMetadata': 'Labels and annotations of everything that the operator makes',
  'spec.inheritedMetadata.labels': 'Further labels of all objects',
  'spec.inheritedMetadata.annotations': 'Further annotations of all objects',
  'spec.bootstrap': 'Where the data of a new Cluster come from; empty when absent',
  'spec.bootstrap.empty':
    'It starts without data, or on the volumes that an earlier Cluster of its name has left',
  'spec.bootstrap.empty.formation':
    'Seed: the first member begins, others join; Static: all begin together',
  'spec.bootstrap.fromBackup':
    'It starts with the data of a backup: a Restore named after it is made once its first member leads, and it grows when that succeeded',
  'spec.bootstrap.fromBackup.backupRef':
    'A Backup of the method Stream in the same namespace, of any Cluster, there or gone',
  'spec.bootstrap.fromBackup.backupRef.name': 'Name of the Backup',
  'spec.bootstrap.fromBackup.source': 'One archive by its address; needs exactly one database',
  'spec.bootstrap.fromBackup.source.url': 'Address of the archive',
  'spec.bootstrap.fromBackup.source.credentialsSecret':
    'Secret with the keys of an S3-compatible storage, as in a Restore; none: the member fetches the address itself',
  'spec.bootstrap.fromBackup.databases': 'Names of the databases; none: all of the Backup',
  'spec.bootstrap.fromBackup.targetNames':
    'Names that databases get, by their names in the archive; those left out keep theirs',
  'spec.bootstrap.fromVolumes':
    "It starts on the data volumes that are there, with {claims}: 'Retained' for those of its name, or the list of their names data-NAME-0, data-NAME-1, …, which carry the label polyad.io/cluster",
  'spec.bootstrap.fromVolumeSnapshots':
    'It starts on snapshots of volumes; not available in this version',
  'spec.bootstrap.fromRelease':
    'It takes over a release of the chart while its members run; the release keeps its objects (keepObjects) and is uninstalled afterwards. Names, ports, Secrets, TLS and volumes are repeated in the spec',
  'spec.bootstrap.fromRelease.statefulSet':
    'Name of the StatefulSet of the release, which is the name of the Cluster',
} as const;

export const specDescriptions: Readonly<Record<string, string>> = {
  ...identity,
  ...configuration,
  ...security,
  ...storage,
  ...network,
  ...upkeep,
  ...pod,
};
