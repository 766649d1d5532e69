import type { Settings } from '#config/effective-settings.ts';
import {
  algorithmsGraphViewMaxSize,
  commandMaxSleep,
  commandRegexMaxSize,
  fullTextMaxClauses,
  fullTextMaxExpandedTerms,
  commandRegexTimeout,
  commandTimeout,
  commitLockTimeout,
  dateFormat,
  dateTimeFormat,
  polyglotCommandTimeout,
  queryMaxHeapElementsAllowedPerOp,
  queryMaxMemory,
  queryMaxNumberDigits,
  queryMaxNumberExponent,
  queryMaxRangeSize,
  queryMaxValueSize,
  sqlMaxBodyDepth,
  sqlMaxBodyTime,
  sqlMaxExpressionDepth,
  sqlMaxStatementSize,
  timeZone,
  txRetries,
  txRetryDelay,
} from '#config/settings.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { ParseLimits } from '#language/frontend.ts';
import type { EvaluationLimits } from '#query/evaluate/context.ts';

/** The settings that every statement reads, as one value that is made anew only when one of them changes. */
export interface StatementLimits {
  readonly evaluation: EvaluationLimits;
  readonly parse: ParseLimits;
  readonly formats: TemporalFormats;
  readonly memoryBytesMax: number;
  readonly bodyDepthMax: number;
  readonly bodyTimeMs: number;
  readonly scriptTimeMs: number;
  readonly timeoutMs: number;
  readonly regexMs: number;
  readonly sleepMsMax: number;
  readonly attemptCountMax: number;
  readonly retryDelayMs: number;
  readonly conflictWaitMs: number;
}

/** Reads the limits of a database. Cost: some fifteen map lookups; keep the result until a setting changes. */
export function readStatementLimits(settings: Settings): StatementLimits {
  return {
    evaluation: {
      elementCountMax: settings.get(queryMaxHeapElementsAllowedPerOp),
      rangeSizeMax: settings.get(queryMaxRangeSize),
      valueBytesMax: settings.get(queryMaxValueSize),
      turnBytesMax: Math.max(settings.get(queryMaxMemory), turnBytesMin),
      patternLengthMax: settings.get(commandRegexMaxSize),
      textClausesMax: settings.get(fullTextMaxClauses),
      textTermsMax: settings.get(fullTextMaxExpandedTerms),
      graphViewBytesMax: settings.get(algorithmsGraphViewMaxSize),
    },
    parse: {
      expressionDepthMax: settings.get(sqlMaxExpressionDepth),
      statementBytesMax: settings.get(sqlMaxStatementSize),
      numbers: {
        digitsMax: settings.get(queryMaxNumberDigits),
        exponentMax: settings.get(queryMaxNumberExponent),
      },
    },
    formats: {
      dateFormat: settings.get(dateFormat),
      dateTimeFormat: settings.get(dateTimeFormat),
      zone: settings.get(timeZone) || systemZone,
    },
    memoryBytesMax: settings.get(queryMaxMemory),
    bodyDepthMax: settings.get(sqlMaxBodyDepth),
    bodyTimeMs: settings.get(sqlMaxBodyTime),
    scriptTimeMs: settings.get(polyglotCommandTimeout),
    timeoutMs: settings.get(commandTimeout),
    regexMs: settings.get(commandRegexTimeout),
    sleepMsMax: settings.get(commandMaxSleep),
    attemptCountMax: settings.get(txRetries),
    retryDelayMs: settings.get(txRetryDelay),
    conflictWaitMs: settings.get(commitLockTimeout),
  };
}

/** Of what a turn makes most is garbage by its end, so a small `queryMaxMemory` is no measure for it. */
const turnBytesMin = 64 * 1024 * 1024;

const systemZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
