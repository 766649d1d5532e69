import { maskSecrets } from '#core/text/masked-text.ts';
import {
  booleanSetting,
  choiceSetting,
  integerSetting,
  invalidSetting,
  sizeSetting,
  textSetting,
  defineSetting,
} from './setting.ts';
import { portSetting } from './port-setting.ts';

// Settings of the server, the HTTP door and security; those of databases and statements are in `settings.ts`.

const KiB = 1024;
const MiB = 1024 * KiB;

// The server

export const serverName = defineSetting('server.name', {
  default: 'Service_0',
  description: 'Name of this server; part of the tokens that it issues',
  reload: 'restart',
  fatal: true,
  parse: (text) => {
    // Tokens and directories carry it with `_` in place of what they cannot hold (contract 1, tokens in a cluster).
    if (/^[^\p{C}\p{Zl}\p{Zp}@,]{1,128}$/u.test(text) && text.trim() === text) return text;
    throw invalidSetting('server.name', text, "1 to 128 printable characters without '@' and ','");
  },
});
export const serverMode = choiceSetting('server.mode', {
  default: 'development',
  choices: ['development', 'test', 'production'],
  description: 'production hides details of errors and refuses to start without a root password',
  reload: 'restart',
  fatal: true,
});
export const serverRootPath = textSetting('server.rootPath', {
  description:
    'Directory that holds databases, config, log and backups; the current one when empty',
  reload: 'restart',
});
export const serverRootPassword = textSetting('server.rootPassword', {
  description: 'Password of root at the first start, 8 to 256 characters',
  reload: 'restart',
  secret: true,
  fatal: true,
});
export const serverRootPasswordPath = textSetting('server.rootPasswordPath', {
  description: 'File that holds the password of root at the first start',
  reload: 'restart',
  fatal: true,
});
export const serverDatabaseDirectory = textSetting('server.databaseDirectory', {
  description: 'Directory of the databases; databases below the root path when empty',
  reload: 'restart',
});
export const serverBackupDirectory = textSetting('server.backupDirectory', {
  description: 'Directory of the backups; backups below the root path when empty',
  reload: 'restart',
});
export const serverLogsDirectory = textSetting('server.logsDirectory', {
  default: './log',
  description: 'Directory of the log files, relative to the root path',
  reload: 'restart',
});
export const serverLogFormat = choiceSetting('server.logFormat', {
  default: 'text',
  choices: ['text', 'json'],
  description: 'Form of the log lines',
  reload: 'restart',
});
export const serverLogLevel = choiceSetting('server.logLevel', {
  default: 'info',
  choices: ['debug', 'info', 'warn', 'error'],
  description: 'Least severe log line that is written; debug has one line for each request',
});
export const serverSlowStatement = integerSetting('server.slowStatement', {
  default: 1000,
  min: 0,
  description: 'Statements that take at least as long have a line in the log (ms); 0: none',
});
export const serverDatabaseLoadAtStartup = booleanSetting('server.databaseLoadAtStartup', {
  default: true,
  description: 'Open all databases when the server starts, else at their first use',
  reload: 'restart',
});
/** `name[user:*****:group]{import:URL};...` */
function withoutPasswords(text: string): string {
  const hidden = (credential: string) => credential.replace(/^([^:]*):[^:]*/, '$1:*****');
  const inBrackets = text.replace(/\[([^\]]*)\]?/g, (found, credentials: string) => {
    const end = found.endsWith(']') ? ']' : '';
    return `[${credentials.split(',').map(hidden).join(',')}${end}`;
  });
  return maskSecrets(inBrackets);
}

export const serverDefaultDatabases = textSetting('server.defaultDatabases', {
  description: 'Databases made at start: name[user:password:group,...]{import:URL};...',
  reload: 'restart',
  secret: true,
  shown: withoutPasswords,
});
export const serverDefaultDatabaseMode = choiceSetting('server.defaultDatabaseMode', {
  default: 'READ_WRITE',
  choices: ['READ_WRITE', 'READ_ONLY'],
  description: 'READ_ONLY refuses writes to all databases',
  reload: 'restart',
});
export const prometheusRequireAuthentication = booleanSetting('prometheus.requireAuthentication', {
  default: true,
  description: 'Scrapes of plugin prometheus need credentials',
});
export const serverPlugins = textSetting('server.plugins', {
  description: 'Plugins to start, name:class,name2',
  reload: 'restart',
});
export const serverReadThreads = integerSetting('server.readThreads', {
  default: -1,
  min: -1,
  max: 64,
  description:
    'Threads for long reading statements beside the main one, started when they are needed; -1 means one less than processors, and none in a container with a memory limit',
  reload: 'restart',
});
export const serverReadThreadMinWork = integerSetting('server.readThreadMinWork', {
  default: 20,
  description:
    'Work that is expected of a statement that goes to a reader thread (ms); 0: whatever',
  reload: 'restart',
});
export const serverReadThreadCacheSize = sizeSetting('server.readThreadCacheSize', {
  default: 64 * MiB,
  min: MiB,
  description: 'Blocks, lists of edges and unique keys that all reader threads keep, together',
  reload: 'restart',
});
export const serverMaxDatabases = integerSetting('server.maxDatabases', {
  default: 1000,
  min: 1,
  max: 2000,
  description: 'Largest number of databases',
});
export const serverShutdownTimeout = integerSetting('server.shutdownTimeout', {
  default: 60_000,
  description: 'Longest wait for running requests when the server stops (ms)',
});
export const serverDirectoryLockTimeout = integerSetting('server.directoryLockTimeout', {
  default: 0,
  min: 0,
  max: 600_000,
  description:
    'Longest wait at a start for another process that has the directories and is about to end (ms); 0: it is an error at once',
  reload: 'restart',
});
export const serverReadinessRequiresHA = booleanSetting('server.readinessRequiresHA', {
  default: false,
  description: 'Readiness waits until the node is part of its cluster',
});
export const serverReadinessHAMaxLag = integerSetting('server.readinessHAMaxLag', {
  default: 100,
  description: 'Log entries that a ready follower may be behind',
});
export const serverEventLogFiles = integerSetting('server.eventLogFiles', {
  default: 10,
  min: 1,
  description: 'Server event log files that are kept',
});
export const serverEventLogMaxSize = sizeSetting('server.eventLogMaxSize', {
  default: 10 * MiB,
  min: 64 * KiB,
  description: 'Size at which the server event log starts a new file',
});

// HTTP

export const serverHttpIncomingHost = textSetting('server.httpIncomingHost', {
  default: '0.0.0.0',
  description: 'Address that the HTTP server listens on',
  reload: 'restart',
  fatal: true,
});
export const serverHttpIncomingPort = portSetting('server.httpIncomingPort', {
  default: 2480,
  description: 'Port of the HTTP server, or a range such as 2480-2489 (the first free one)',
});
export const serverHttpsIncomingPort = portSetting('server.httpsIncomingPort', {
  default: 2490,
  description: 'Port of the HTTPS server (with ssl.enabled), or a range of ports',
});
export const serverHttpMaxConnections = integerSetting('server.httpMaxConnections', {
  default: 10_000,
  min: 1,
  description: 'Largest number of HTTP connections; beyond it the longest idle one is closed',
  reload: 'restart',
});
export const serverHttpMaxPendingHeaders = sizeSetting('server.httpMaxPendingHeaders', {
  default: 8 * MiB,
  min: 64 * KiB,
  description: 'Headers that are not complete, on all connections together; beyond it 503',
});
export const serverHttpMaxRequestMemory = sizeSetting('server.httpMaxRequestMemory', {
  default: 0,
  description:
    'Memory of the bodies and messages of all requests that are not answered, and of what is made of them; beyond it 503; 0 means a quarter of the container',
  reload: 'restart',
});
export const serverHttpWorkerThreads = integerSetting('server.httpWorkerThreads', {
  default: 500,
  min: 1,
  description: 'Largest number of requests that execute at once; more wait',
});
export const serverHttpBodyContentMaxSize = sizeSetting('server.httpBodyContentMaxSize', {
  default: 100 * MiB,
  min: -1,
  description: 'Largest request body; 0 or less means any',
});
export const serverHttpBodyContentDecompressedMaxSize = sizeSetting(
  'server.httpBodyContentDecompressedMaxSize',
  {
    default: 100 * MiB,
    min: -1,
    description: 'Largest request body after decompression; 0 or less means any',
  },
);
export const serverHttpGetBodyMaxSize = sizeSetting('server.httpGetBodyMaxSize', {
  default: 64 * KiB,
  description: 'Largest body of a GET request; it is read and ignored',
});
export const serverHttpHeaderMaxSize = sizeSetting('server.httpHeaderMaxSize', {
  default: MiB,
  min: 8 * KiB,
  max: 16 * MiB,
  description: 'Largest size of all headers of a request together',
  reload: 'restart',
});
export const serverHttpHeaderMaxCount = integerSetting('server.httpHeaderMaxCount', {
  default: 200,
  min: 10,
  description: 'Largest number of headers of a request',
});
export const serverHttpUrlMaxSize = sizeSetting('server.httpUrlMaxSize', {
  default: 16 * KiB,
  min: KiB,
  max: MiB,
  description: 'Longest path with query string of a request',
  reload: 'restart',
});
export const serverHttpHeadersTimeout = integerSetting('server.httpHeadersTimeout', {
  default: 20_000,
  min: 1,
  description: 'Longest time until the headers of a request are complete (ms)',
  reload: 'restart',
});
export const serverHttpBodyTimeout = integerSetting('server.httpBodyTimeout', {
  default: 60_000,
  min: 1,
  description:
    'Longest time for a request body, or what it takes at 1 MiB/s if that is longer (ms)',
});
export const serverHttpBatchCommitMaxSize = sizeSetting('server.httpBatchCommitMaxSize', {
  default: 128 * MiB,
  min: 4 * MiB,
  description:
    'What a bulk import gathers in memory before it commits it; the process takes up to three times as much for it',
});
export const serverHttpBatchLineMaxSize = sizeSetting('server.httpBatchLineMaxSize', {
  default: 64 * MiB,
  min: 1024,
  description: 'Longest line of a bulk import',
});
export const serverHttpJsonMaxDepth = integerSetting('server.httpJsonMaxDepth', {
  default: 512,
  min: 1,
  max: 5000,
  description: 'Deepest nesting of JSON in a request body',
});
export const serverHttpMarkerMaxDepth = integerSetting('server.httpMarkerMaxDepth', {
  default: 32,
  min: 1,
  max: 512,
  description: 'Deepest nesting of lists and maps in statement parameters',
});
export const serverHttpQueryDefaultLimit = integerSetting('server.httpQueryDefaultLimit', {
  default: 20_000,
  min: -1,
  description: 'Rows that an answer holds when the request names no limit',
});
export const serverHttpQueryMaxResultRows = integerSetting('server.httpQueryMaxResultRows', {
  default: 1_000_000,
  description: 'Rows that an answer may hold at all; 0 means any',
});
export const serverHttpStreamingReadTimeout = integerSetting('server.httpStreamingReadTimeout', {
  default: 600_000,
  min: 1,
  description: 'Longest pause of a client that sends a streamed body (ms)',
});
export const serverHttpStreamingWriteTimeout = integerSetting('server.httpStreamingWriteTimeout', {
  default: 60_000,
  min: 1,
  description: 'Longest pause of a client that reads a streamed answer (ms)',
});
export const serverHttpStreamingKeepAlive = integerSetting('server.httpStreamingKeepAlive', {
  default: 15_000,
  min: 1,
  description: 'Time without a row after which a streamed answer sends a blank line (ms)',
});
export const serverHttpTxExpireTimeout = integerSetting('server.httpTxExpireTimeout', {
  default: 30,
  min: 1,
  description: 'Idle time after which a transaction session is rolled back (s)',
});
export const serverHttpTxSessionMax = integerSetting('server.httpTxSessionMax', {
  default: 10_000,
  min: 1,
  description: 'Largest number of open transaction sessions',
});
export const serverHttpTxSnapshotMax = integerSetting('server.httpTxSnapshotMax', {
  default: 512,
  min: 1,
  max: 1000,
  description: 'Distinct snapshots that REPEATABLE_READ sessions may pin',
});
export const serverHttpTxLockTimeout = integerSetting('server.httpTxLockTimeout', {
  default: 5000,
  description: 'Longest wait of a request for its busy transaction session (ms)',
});
export const serverMaxSnapshotAge = integerSetting('server.maxSnapshotAge', {
  default: 600,
  min: 1,
  description: 'Age at which a pinned snapshot ends its stream or session (s)',
});
export const serverHttpAuthSessionExpireTimeout = integerSetting(
  'server.httpAuthSessionExpireTimeout',
  { default: 1800, min: 1, description: 'Idle time after which a token is invalid (s)' },
);
export const serverHttpAuthSessionAbsoluteTimeout = integerSetting(
  'server.httpAuthSessionAbsoluteTimeout',
  { default: 0, description: 'Age at which a token is invalid; 0 means never (s)' },
);
export const serverHttpAuthSessionMaxPerUser = integerSetting('server.httpAuthSessionMaxPerUser', {
  default: 100,
  description: 'Tokens of one user; 0 means any number',
});
export const serverHttpAuthSessionMax = integerSetting('server.httpAuthSessionMax', {
  default: 10_000,
  description: 'Tokens of the server; 0 means any number',
});
export const serverHttpCorsAllowedOrigins = textSetting('server.httpCorsAllowedOrigins', {
  description: "Origins of other sites that may call the API, comma-separated; '*' means all",
});
export const serverHttpIdempotencyMaxEntries = integerSetting('server.httpIdempotencyMaxEntries', {
  default: 10_000,
  description: 'Answers that are kept for repetition by X-Request-Id',
});
export const serverHttpIdempotencyMaxSize = sizeSetting('server.httpIdempotencyMaxSize', {
  default: 64 * MiB,
  description: 'Size of all answers that are kept for repetition',
});
export const serverHttpIdempotencyMaxBodySize = sizeSetting('server.httpIdempotencyMaxBodySize', {
  default: MiB,
  description: 'Largest answer that is kept for repetition',
});
export const serverApiTokenMax = integerSetting('server.apiTokenMax', {
  default: 10_000,
  min: 1,
  description: 'Largest number of API tokens',
});
export const serverApiTokenRequireSecureTransport = booleanSetting(
  'server.apiTokenRequireSecureTransport',
  { default: false, description: 'API tokens are refused over plain HTTP' },
);
export const networkSocketTimeout = integerSetting('network.socketTimeout', {
  default: 30_000,
  min: 1,
  description: 'Idle time after which a kept-alive connection is closed (ms)',
});

// WebSocket

export const serverEventBusMaxPendingBytes = sizeSetting('server.eventBusMaxPendingBytes', {
  default: 16 * MiB,
  description: 'Unsent bytes to a WebSocket client at which its connection is closed; 0 means any',
});
export const serverEventBusQueueSize = integerSetting('server.eventBusQueueSize', {
  default: 1000,
  min: 1,
  description:
    'Change events of a database that may wait; beyond it those of whole commits are dropped',
});
export const serverWsInsertSessionExpireTimeout = integerSetting(
  'server.wsInsertSessionExpireTimeout',
  {
    default: 30_000,
    description: 'Idle time after which a streaming insert is rolled back (ms); 0 means never',
  },
);
export const serverWsMaxControlFrameSize = sizeSetting('server.wsMaxControlFrameSize', {
  default: 64 * KiB,
  min: KiB,
  description: 'Largest WebSocket message other than a chunk of records',
});
export const serverWsMaxInsertFrameSize = sizeSetting('server.wsMaxInsertFrameSize', {
  default: 16 * MiB,
  min: KiB,
  max: 256 * MiB,
  description: 'Largest WebSocket message with a chunk of records',
});
export const serverWsMaxInsertChunkRows = integerSetting('server.wsMaxInsertChunkRows', {
  default: 100_000,
  min: 1,
  description: 'Largest number of records in a chunk',
});
export const serverWsMaxConnections = integerSetting('server.wsMaxConnections', {
  default: 1000,
  min: 1,
  description: 'Largest number of WebSocket connections',
});

// Security

export const serverSaltIterations = integerSetting('server.saltIterations', {
  default: 65_536,
  min: 1000,
  max: 10_000_000,
  description: 'Iterations of the password hash of users made from now on',
  fatal: true,
});
export const serverSecurityAlgorithm = choiceSetting('server.securityAlgorithm', {
  default: 'PBKDF2WithHmacSHA256',
  choices: ['PBKDF2WithHmacSHA256'],
  description: 'Password hash',
  fatal: true,
});
export const serverSecuritySaltCacheSize = integerSetting('server.securitySaltCacheSize', {
  default: 64,
  description: 'Verified credentials that are remembered; 0 means none',
});
export const serverSecurityHashQueueSize = integerSetting('server.securityHashQueueSize', {
  default: 256,
  min: 1,
  description: 'Password checks that may wait; more are answered 503',
});
export const serverSecurityLockoutAttempts = integerSetting('server.securityLockoutAttempts', {
  default: 5,
  min: 1,
  description: 'Failed logins of one name that lock it',
});
export const serverSecurityLockoutTime = integerSetting('server.securityLockoutTime', {
  default: 30,
  description: 'Time in which failures count, and for which a name stays locked (s)',
});
export const serverReloadEvery = integerSetting('server.reloadEvery', {
  default: 5000,
  min: 1,
  description: 'Pause between looks at the security files (ms)',
  reload: 'restart',
});
export const serverRestoreImportAllowLocalUrls = booleanSetting(
  'server.restoreImportAllowLocalUrls',
  { default: false, description: 'restore and import commands may fetch from private addresses' },
);
export const serverSecurityImportBlockLocalNetworks = booleanSetting(
  'server.security.importBlockLocalNetworks',
  { default: true, description: 'IMPORT DATABASE may not fetch from private addresses' },
);
export const serverSecurityImportAllowedNetworks = textSetting(
  'server.security.importAllowedNetworks',
  { description: 'Address ranges that may be fetched from all the same, comma-separated' },
);
export const serverSecurityImportAllowedLocalPaths = textSetting(
  'server.security.importAllowedLocalPaths',
  { description: 'Directories that local files may be read from; any when empty' },
);
export const serverSecurityImportMaxSize = sizeSetting('server.security.importMaxSize', {
  default: 64 * 1024 * MiB,
  min: 1,
  description: 'Largest file that restore and import fetch, and largest content of a packed one',
});
export const serverRestoreMaxEntrySize = sizeSetting('server.restoreMaxEntrySize', {
  default: 10 * 1024 * MiB,
  min: 1,
  description: 'Largest file in an archive that is restored',
});
export const serverRestoreMaxRatio = integerSetting('server.restoreMaxRatio', {
  default: 200,
  min: 1,
  description: 'Unpacked bytes for each byte of an archive that is restored, above 256 MiB',
});
export const sslEnabled = booleanSetting('ssl.enabled', {
  default: false,
  description: 'Serve HTTPS on server.httpsIncomingPort, beside HTTP',
  reload: 'restart',
  fatal: true,
});
export const sslKeyStore = textSetting('ssl.keyStore', {
  description:
    'Private key and certificates of the HTTPS server: a PKCS#12 file, PEM files (comma-separated), or a directory with tls.key and tls.crt; taken over when it changes',
  reload: 'restart',
  fatal: true,
});
export const sslKeyStorePassword = textSetting('ssl.keyStorePassword', {
  description: 'Password of the key store, or of an encrypted private key',
  reload: 'restart',
  secret: true,
  fatal: true,
});
export const sslTrustStore = textSetting('ssl.trustStore', {
  description: 'Certificates of the authorities that peers are trusted by: PEM files or PKCS#12',
  reload: 'restart',
  fatal: true,
});
export const sslTrustStorePassword = textSetting('ssl.trustStorePassword', {
  description: 'Password of the trust store',
  reload: 'restart',
  secret: true,
  fatal: true,
});
export const sslMinVersion = choiceSetting('ssl.minVersion', {
  default: 'TLSv1.2',
  choices: ['TLSv1.2', 'TLSv1.3'],
  description: 'Oldest version of TLS that is accepted',
  reload: 'restart',
  fatal: true,
});
export const haEnabled = booleanSetting('ha.enabled', {
  default: false,
  description: 'This server is one of a cluster',
  reload: 'restart',
  fatal: true,
});
export const haK8s = booleanSetting('ha.k8s', {
  default: false,
  description: 'The server runs in Kubernetes: no first-start password is made up',
  reload: 'restart',
  fatal: true,
});
