import type { DatabaseStorage, DatabasesPort } from '#database/session.ts';
import type { StatementMeter } from '#database/statement/meter.ts';
import type { EventCounts } from './event-log.ts';
import {
  counter,
  countersBy,
  gauge,
  histogram,
  type MetricFamily,
  type TelemetryReader,
  type TelemetrySource,
} from './telemetry.ts';

/** Databases that have series of their own; the others are added up. */
const databasesMax = 100;
/** No database has such a name. */
const otherDatabases = '.other';

/** Families of databases, statements and events. */
export function serverTelemetry(given: {
  readonly version: string;
  readonly serverName: string;
  readonly databases: DatabasesPort;
  readonly meter: StatementMeter;
  readonly events: EventCounts;
}): TelemetrySource {
  const { version, serverName, databases, meter, events } = given;
  return (reader) => [
    {
      name: 'build_info',
      help: 'Version of the server',
      type: 'gauge',
      samples: [{ labels: { version, node: process.versions.node, server: serverName }, value: 1 }],
    },
    ...statementFamilies(meter),
    ...transactionFamilies(databases),
    ...storageFamilies(databases.storage(), reader),
    ...backupFamilies(databases, reader),
    countersBy('type', { name: 'server_events', help: 'Events of the server event log' }, [
      ['error', events.errors],
      ['warning', events.warnings],
      ['info', events.info],
      ['hint', events.hints],
    ]),
  ];
}

function statementFamilies(meter: StatementMeter): readonly MetricFamily[] {
  return [
    {
      name: 'query_seconds',
      help: 'Time of statements until their rows were given, by language and kind',
      type: 'histogram',
      samples: meter.times().map(({ language, kind, seconds }) => ({
        labels: { language, kind },
        histogram: seconds.read(),
      })),
    },
    countersBy(
      'exception',
      { name: 'query_failures', help: 'Statements that failed, by exception' },
      meter.failures.entries(),
    ),
  ];
}

function transactionFamilies(databases: DatabasesPort): readonly MetricFamily[] {
  const counters = databases.counters();
  const { statements, operations } = databases.running;
  return [
    counter('queries', 'Statements that were begun', counters.queries),
    counter('transactions_committed', 'Transactions that committed', counters.writeTx),
    counter('transactions_read', 'Statements that only read', counters.readTx),
    counter('transactions_rolled_back', 'Transactions that were rolled back', counters.txRollbacks),
    counter(
      'transaction_conflicts',
      'Commits that met a change of somebody else',
      counters.concurrentModificationExceptions,
    ),
    histogram('commit_seconds', 'Time of commits until they were durable', counters.commitSeconds),
    histogram(
      'storage_flush_seconds',
      'Time of the writes of commit logs, each of them one flush of the disk',
      counters.flushSeconds,
    ),
    gauge(
      'statements_running',
      'Statements that run for longer than a slice of 2 ms',
      statements.count,
    ),
    gauge('operations_running', 'Long operations that run', operations.running().length),
    gauge('databases', 'Databases of the server', databases.names().length),
    gauge('databases_open', 'Databases that are open', counters.openDatabases),
    gauge('transaction_sessions', 'Open transaction sessions', counters.openSessions),
    gauge('async_queue_length', 'Queued commands that wait', counters.asyncQueued),
    gauge('async_active', 'Queues that execute a command now', counters.asyncActive),
    counter('async_completed', 'Queued commands that were executed', counters.asyncCompleted),
  ];
}

function storageFamilies(
  all: readonly DatabaseStorage[],
  { canSee }: TelemetryReader,
): readonly MetricFamily[] {
  const shown = boundedStorage(all.filter(({ database }) => canSee(database)));
  const by = (value: (storage: DatabaseStorage) => number) =>
    shown.map((storage) => ({ labels: { database: storage.database }, value: value(storage) }));
  return [
    {
      name: 'storage_map_bytes',
      help: 'Size of the LMDB file of a database',
      type: 'gauge',
      samples: by(({ mapBytes }) => mapBytes),
    },
    {
      name: 'storage_flushes',
      help: 'Flushes of the disk since a database was opened',
      type: 'counter',
      samples: by(({ flushCount }) => flushCount),
    },
    {
      name: 'storage_log_bytes',
      help: 'Bytes written to the commit log since a database was opened',
      type: 'counter',
      samples: by(({ logBytes }) => logBytes),
    },
    {
      name: 'storage_records',
      help: 'Records of a database',
      type: 'gauge',
      samples: by(({ recordCount }) => recordCount()),
    },
  ];
}

/** Of the first databases by name; when a backup of the others was made, their archives tell. */
function backupFamilies(
  { running }: DatabasesPort,
  { canSee }: TelemetryReader,
): readonly MetricFamily[] {
  const backups = running.operations
    .lastCompleted('backup database')
    .filter(({ database }) => canSee(database))
    .sort((a, b) => (a.database < b.database ? -1 : 1))
    .slice(0, databasesMax);
  const by = (value: (backup: (typeof backups)[number]) => number) =>
    backups.map((backup) => ({ labels: { database: backup.database }, value: value(backup) }));
  return [
    {
      name: 'backup_last_success_timestamp_seconds',
      help: 'When the last backup of a database was completed, seconds since 1970',
      type: 'gauge',
      samples: by(({ endedAt }) => endedAt / 1000),
    },
    {
      name: 'backup_last_success_seconds',
      help: 'How long that backup took',
      type: 'gauge',
      samples: by(({ elapsedMs }) => elapsedMs / 1000),
    },
  ];
}

/** The first databases by name, and the sum of the others: the number of series stays bounded. */
function boundedStorage(all: readonly DatabaseStorage[]): readonly DatabaseStorage[] {
  const sorted = [...all].sort((a, b) => (a.database < b.database ? -1 : 1));
  if (sorted.length <= databasesMax) return sorted;
  const others = sorted.slice(databasesMax);
  const sum = (value: (storage: DatabaseStorage) => number) =>
    others.reduce((total, storage) => total + value(storage), 0);
  const rest: DatabaseStorage = {
    database: otherDatabases,
    mapBytes: sum(({ mapBytes }) => mapBytes),
    flushCount: sum(({ flushCount }) => flushCount),
    logBytes: sum(({ logBytes }) => logBytes),
    recordCount: () => sum(({ recordCount }) => recordCount()),
  };
  return [...sorted.slice(0, databasesMax), rest];
}
