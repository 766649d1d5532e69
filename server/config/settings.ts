import { compilePattern } from '#core/temporal/pattern.ts';
import { isTimeZone } from '#core/temporal/time-zone.ts';
import {
  booleanSetting,
  choiceSetting,
  defineSetting,
  integerSetting,
  invalidSetting,
  type SettingSpec,
  sizeSetting,
} from './setting.ts';

/*
 * The registry: every setting and every named limit (http-api.md 21.5, limits.md). Here those of databases and
 * statements, in `server-settings.ts` those of the server and its doors. The exported name is the key in camel case;
 * `registry.ts` lists whatever the two files export.
 */

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

export const txRetries = integerSetting('txRetries', {
  scope: 'database',
  default: 3,
  max: 1000,
  description: 'Attempts of a statement that meets a conflict',
});
export const txRetryDelay = integerSetting('txRetryDelay', {
  scope: 'database',
  default: 100,
  description: 'Pause before another attempt, times a random factor (ms)',
});
export const txWAL = booleanSetting('txWAL', {
  scope: 'database',
  default: true,
  description: 'Commits are durable; false is accepted and changes nothing',
});
export const txWalFlush = integerSetting('txWalFlush', {
  scope: 'database',
  default: 0,
  max: 2,
  description: 'Commits are always flushed; accepted for compatibility',
});
export const commitLockTimeout = integerSetting('commitLockTimeout', {
  scope: 'database',
  default: 5000,
  description: 'Longest wait of a commit for the fate of an earlier one (ms)',
});
/** A pattern of letters; one that cannot be read is refused when it is set, not when a date is printed. */
function patternSetting(name: string, pattern: string, description: string): SettingSpec<string> {
  return defineSetting(name, {
    scope: 'database',
    default: pattern,
    description,
    parse(text) {
      try {
        compilePattern(text);
      } catch {
        throw invalidSetting(name, text, 'a pattern of letters such as yyyy-MM-dd');
      }
      if (text.trim() === '') throw invalidSetting(name, text, 'a pattern of letters');
      return text;
    },
  });
}

export const dateFormat = patternSetting(
  'dateFormat',
  'yyyy-MM-dd',
  'Form of dates in texts and answers',
);
export const dateTimeFormat = patternSetting(
  'dateTimeFormat',
  'yyyy-MM-dd HH:mm:ss',
  'Form of moments in texts and answers',
);
export const timeZone = defineSetting('timeZone', {
  scope: 'database',
  default: '',
  parse(text) {
    if (text !== '' && !isTimeZone(text))
      throw invalidSetting('timeZone', text, 'a time zone such as Europe/Rome or +02:00');
    return text;
  },
  description: 'Time zone of moments in texts and answers; that of the server when empty',
});
export const truncateBatchSize = integerSetting('truncateBatchSize', {
  scope: 'database',
  default: 1000,
  min: 1,
  max: 1_000_000,
  description: 'Records that TRUNCATE deletes in one commit when it commits by itself',
});
export const typeDefaultBuckets = integerSetting('typeDefaultBuckets', {
  scope: 'database',
  default: 1,
  min: 1,
  max: 65_535,
  description: 'Buckets of a new type',
});
export const asyncWorkerThreads = integerSetting('asyncWorkerThreads', {
  scope: 'database',
  default: 1,
  min: 1,
  description: 'Queued commands that execute at once',
});
export const asyncOperationsQueueSize = integerSetting('asyncOperationsQueueSize', {
  scope: 'database',
  default: 1024,
  min: 1,
  description: 'Commands that may wait for asynchronous execution',
});
export const asyncOperationsQueueImpl = choiceSetting('asyncOperationsQueueImpl', {
  scope: 'database',
  default: 'standard',
  choices: ['standard', 'fast'],
  description: 'Accepted for compatibility',
});
export const asyncQueueTimeout = integerSetting('asyncQueueTimeout', {
  scope: 'database',
  default: 30_000,
  description: 'Longest wait for room in the asynchronous queue (ms)',
});
export const asyncTxBatchSize = integerSetting('asyncTxBatchSize', {
  scope: 'database',
  default: 10_240,
  min: 1,
  description: 'Queued operations that share a commit',
});
export const asyncBackPressure = integerSetting('asyncBackPressure', {
  scope: 'database',
  default: 0,
  max: 100,
  description: 'Fill of the asynchronous queue from which senders are slowed (%)',
});
export const asyncCloseTimeout = integerSetting('asyncCloseTimeout', {
  scope: 'database',
  default: 60_000,
  description: 'Longest wait for the asynchronous queue when a database closes (ms)',
});
export const commandTimeout = integerSetting('command.timeout', {
  scope: 'database',
  default: 0,
  description: 'Longest execution of a statement; 0 means any (ms)',
});
export const commandRegexTimeout = integerSetting('command.regexTimeout', {
  scope: 'database',
  default: 1000,
  min: 1,
  description: 'Longest time of all regular expressions of a statement (ms)',
});
export const commandRegexMaxSize = sizeSetting('command.regexMaxSize', {
  scope: 'database',
  default: 64 * KiB,
  min: 1,
  description: 'Longest pattern of a regular expression',
});
export const commandMaxSleep = integerSetting('command.maxSleep', {
  scope: 'database',
  default: 60_000,
  description: 'Longest SLEEP of a script (ms)',
});
export const sqlMaxExpressionDepth = integerSetting('sql.maxExpressionDepth', {
  scope: 'database',
  default: 200,
  min: 10,
  max: 1000,
  description: 'Deepest nesting of a statement, in every language',
});
export const sqlMaxBodyDepth = integerSetting('sql.maxBodyDepth', {
  scope: 'database',
  default: 32,
  min: 1,
  max: 64,
  description: 'Deepest nesting of triggers and user functions that set each other off',
});
export const sqlMaxBodyTime = integerSetting('sql.maxBodyTime', {
  scope: 'database',
  default: 1000,
  min: 1,
  max: 60_000,
  description:
    'Longest work of one trigger or user function with all that it sets off (ms), turns of others and runs of JavaScript not counted',
});
export const polyglotCommandTimeout = integerSetting('polyglotCommand.timeout', {
  scope: 'database',
  default: 10_000,
  min: 1,
  description:
    'Longest run of one trigger or function in JavaScript (ms); its process holds nobody up',
});
export const polyglotCommandMaxMemory = integerSetting('polyglotCommand.maxMemory', {
  default: 64,
  min: 16,
  max: 1024,
  description: 'Heap of the process that runs JavaScript (MiB); at most a sixteenth of a container',
});
export const sqlMaxStatementSize = sizeSetting('sql.maxStatementSize', {
  scope: 'database',
  default: 4 * MiB,
  min: KiB,
  max: 64 * MiB,
  description: 'Longest text of a statement',
});
export const sqlPlanCacheSize = integerSetting('sql.planCacheSize', {
  scope: 'database',
  default: 500,
  description: 'Plans that are kept for repeated statements',
});
export const queryMaxHeapElementsAllowedPerOp = integerSetting('queryMaxHeapElementsAllowedPerOp', {
  scope: 'database',
  default: 500_000,
  min: 1,
  description: 'Rows or values that one sort, group, distinct or collecting function may hold',
});
export const queryMaxRangeSize = integerSetting('queryMaxRangeSize', {
  scope: 'database',
  default: 10_000_000,
  min: 1,
  description: 'Largest list that range() makes',
});
export const vectorCacheMaxSize = sizeSetting('vectorCacheMaxSize', {
  scope: 'server',
  default: GiB,
  min: 0,
  description:
    'Memory for the vectors and graphs of the vector indexes of one database; above it they are searched in the records',
});
export const fullTextMaxClauses = integerSetting('fullText.maxClauses', {
  scope: 'database',
  default: 1_024,
  min: 1,
  description: 'Words and groups of one full-text query',
});
export const fullTextMaxExpandedTerms = integerSetting('fullText.maxExpandedTerms', {
  scope: 'database',
  default: 10_000,
  min: 1,
  description: 'Terms that prefixes, wildcards and fuzzy words of one full-text query stand for',
});
export const algorithmsGraphViewMaxSize = sizeSetting('algorithms.graphViewMaxSize', {
  scope: 'database',
  default: 128 * MiB,
  description:
    'Graph views of algo.* that are kept between calls until something is committed; 0 keeps none',
});
export const queryMaxValueSize = sizeSetting('queryMaxValueSize', {
  scope: 'database',
  default: 64 * MiB,
  min: KiB,
  max: 512 * MiB,
  description: 'Largest single value of a statement',
});
export const queryMaxMemory = sizeSetting('queryMaxMemory', {
  scope: 'database',
  default: 256 * MiB,
  min: MiB,
  description: 'Memory that one statement may hold',
});
export const serverQueryMaxMemory = sizeSetting('server.queryMaxMemory', {
  default: 0,
  description: 'Memory that all statements may hold; 0 means half of the heap limit',
});
export const serverMaxContainerMemory = integerSetting('server.maxContainerMemory', {
  default: 90,
  min: 50,
  max: 100,
  description: "Percent of the container's memory up to which statements may take more",
});
export const queryMaxNumberDigits = integerSetting('queryMaxNumberDigits', {
  scope: 'database',
  default: 10_000,
  min: 40,
  max: 10_000,
  description: 'Longest number in a statement or a request',
});
export const queryMaxNumberExponent = integerSetting('queryMaxNumberExponent', {
  scope: 'database',
  default: 6144,
  min: 308,
  max: 6144,
  description: 'Largest exponent of a number in a statement or a request',
});
export const maxNameLength = integerSetting('maxNameLength', {
  scope: 'database',
  default: 256,
  min: 1,
  max: 256,
  description:
    'Longest new name (characters) of a type, property, bucket, index, trigger, function, view, user, token or database',
});
export const maxRecordSize = sizeSetting('maxRecordSize', {
  scope: 'database',
  default: 64 * MiB,
  min: KiB,
  max: 512 * MiB,
  description: 'Largest record',
});
export const storageMapSize = sizeSetting('storage.mapSize', {
  scope: 'database',
  default: GiB,
  min: 16 * MiB,
  description: 'Address space that a database starts with; it grows by itself',
  reload: 'restart',
});
export const storageCacheSize = sizeSetting('storage.cacheSize', {
  scope: 'database',
  default: 64 * MiB,
  min: MiB,
  max: 64 * GiB,
  description: 'Blocks, lists of edges and unique keys that one database keeps in memory, together',
  reload: 'restart',
});
export const storageMaxReaders = integerSetting('storage.maxReaders', {
  scope: 'database',
  default: 1024,
  min: 126,
  max: 8192,
  description: 'Snapshots of one database that may be open at once',
  reload: 'restart',
});
export const backupCompressionLevel = integerSetting('backup.compressionLevel', {
  scope: 'database',
  default: 1,
  max: 9,
  description: 'Compression of backups, 0 (none) to 9',
});
export const backupCompressionThreads = integerSetting('backup.compressionThreads', {
  scope: 'database',
  default: 0,
  max: 1024,
  description: 'Accepted for compatibility: backups are packed by one thread beside the others',
});
export const backupMaxMBPerSecond = integerSetting('backup.maxMBPerSecond', {
  scope: 'database',
  default: 0,
  max: 1_000_000,
  description: 'Pace of backups in MiB of the database each second; 0 means no limit',
});
