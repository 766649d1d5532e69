/*
 * Which settings a running member takes over (operator.md 8.5). A test compares this with the server's own registry: what is
 * listed as hot is so there. A key that stands in no list needs a restart: a needless one is harmless, a setting without
 * effect is not.
 */

/** Keys that the operator itself sets; a Cluster may not. */
export const managedSettings: readonly string[] = [
  ...[
    'enabled',
    'k8s',
    'k8sSuffix',
    'serverList',
    'startMode',
    'clusterName',
    'clusterToken',
    'clusterTokenPath',
    'raftPort',
    'raftStorageDirectory',
    'raftPersistStorage',
    'quorum',
  ].map((name) => `service.ha.${name}`),
  ...[
    'name',
    'rootPath',
    'rootPassword',
    'rootPasswordPath',
    'httpIncomingPort',
    'httpsIncomingPort',
    'databaseDirectory',
  ].map((name) => `service.server.${name}`),
];

/**
 * Keys of the server that take effect at once when set on a running member. All others need a restart: those of databases
 * too, since an open database keeps what the server said when it was opened.
 */
export const hotSettings: ReadonlySet<string> = new Set([
  'service.ha.idempotencyCacheTtlMs',
  'service.network.socketTimeout',
  'service.server.apiTokenRequireSecureTransport',
  'service.server.eventLogFiles',
  'service.server.eventLogMaxSize',
  'service.server.httpAuthSessionAbsoluteTimeout',
  'service.server.httpAuthSessionExpireTimeout',
  'service.server.httpAuthSessionMax',
  'service.server.httpAuthSessionMaxPerUser',
  'service.server.httpBatchCommitMaxSize',
  'service.server.httpBatchLineMaxSize',
  'service.server.httpBodyContentDecompressedMaxSize',
  'service.server.httpBodyContentMaxSize',
  'service.server.httpBodyTimeout',
  'service.server.httpCorsAllowedOrigins',
  'service.server.httpGetBodyMaxSize',
  'service.server.httpHeaderMaxCount',
  'service.server.httpIdempotencyMaxBodySize',
  'service.server.httpIdempotencyMaxEntries',
  'service.server.httpIdempotencyMaxSize',
  'service.server.httpJsonMaxDepth',
  'service.server.httpMarkerMaxDepth',
  'service.server.httpQueryDefaultLimit',
  'service.server.httpQueryMaxResultRows',
  'service.server.httpStreamingKeepAlive',
  'service.server.httpStreamingReadTimeout',
  'service.server.httpStreamingWriteTimeout',
  'service.server.httpTxExpireTimeout',
  'service.server.httpTxLockTimeout',
  'service.server.httpTxSessionMax',
  'service.server.httpTxSnapshotMax',
  'service.server.httpWorkerThreads',
  'service.server.maxDatabases',
  'service.server.maxSnapshotAge',
  'service.server.queryMaxMemory',
  'service.server.readinessHAMaxLag',
  'service.server.readinessRequiresHA',
  'service.server.restoreImportAllowLocalUrls',
  'service.server.saltIterations',
  'service.server.security.importAllowedLocalPaths',
  'service.server.security.importAllowedNetworks',
  'service.server.security.importBlockLocalNetworks',
  'service.server.securityAlgorithm',
  'service.server.securityHashQueueSize',
  'service.server.securityLockoutAttempts',
  'service.server.securityLockoutTime',
  'service.server.securitySaltCacheSize',
  'service.server.shutdownTimeout',
]);
