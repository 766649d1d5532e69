import { DatabaseError } from '#core/errors.ts';
import {
  haAppendBufferSize,
  haGroupCommitMaxQueuedBytes,
  haGrpcMessageSizeMax,
  haTsMaxSealedInlineSize,
  haWriteBufferSize,
} from './cluster-log-settings.ts';
import {
  haErrorRetries,
  haReplicationChunkMaxSize,
  haSnapshotWatchdogTimeout,
} from './cluster-resync-settings.ts';
import { haElectionTimeoutMax, haElectionTimeoutMin } from './cluster-settings.ts';
import type { Settings } from './effective-settings.ts';
import type { SettingSpec } from './setting.ts';

/** Around the longest entry of a message. */
const envelopeBytes = 64 * 1024;
const recordBytes = 8;
const calmRatio = 1.5;

/**
 * Settings of a cluster that bound each other (ha.md 13). One that nobody set follows the other.
 * @returns what is worth a line in the log
 * @throws DatabaseError `InvalidSetting` naming both, their values and the range
 */
export function checkClusterSettings(settings: Settings): readonly string[] {
  const entryMax = settings.get(haAppendBufferSize);
  const minMs = settings.get(haElectionTimeoutMin);
  const maxMs = settings.get(haElectionTimeoutMax);
  const refuse = (spec: SettingSpec<number>, allowed: string): never => {
    throw new DatabaseError(
      'InvalidSetting',
      `${spec.key} is '${settings.get(spec)}'; it must be ${allowed}`,
    );
  };
  const isSetBelow = (spec: SettingSpec<number>, least: number) =>
    settings.isOverridden(spec as SettingSpec<unknown>) && settings.get(spec) < least;
  if (maxMs <= minMs)
    refuse(haElectionTimeoutMax, `greater than ${haElectionTimeoutMin.key} (${minMs})`);
  const messageMax = settings.get(haGrpcMessageSizeMax) - envelopeBytes;
  if (entryMax > messageMax)
    refuse(
      haAppendBufferSize,
      `at most ${messageMax}, 64 KB less than ${haGrpcMessageSizeMax.key}`,
    );
  for (const [spec, least, what] of [
    [haWriteBufferSize, entryMax + recordBytes, `${haAppendBufferSize.key} and 8 bytes`],
    [haGroupCommitMaxQueuedBytes, entryMax, haAppendBufferSize.key],
    [haSnapshotWatchdogTimeout, 4 * maxMs, `four times ${haElectionTimeoutMax.key}`],
  ] as const)
    if (isSetBelow(spec, least)) refuse(spec, `at least ${least}, ${what}`);
  const sealedMax = Math.floor(entryMax * 1.5);
  if (
    settings.isOverridden(haTsMaxSealedInlineSize as SettingSpec<unknown>) &&
    settings.get(haTsMaxSealedInlineSize) > sealedMax
  )
    refuse(haTsMaxSealedInlineSize, `at most ${sealedMax}, 1.5 times ${haAppendBufferSize.key}`);
  return remarks(settings);
}

function remarks(settings: Settings): readonly string[] {
  const minMs = settings.get(haElectionTimeoutMin);
  const maxMs = settings.get(haElectionTimeoutMax);
  const found: string[] = [];
  if (maxMs < calmRatio * minMs)
    found.push(
      `${haElectionTimeoutMax.key} (${maxMs}) is less than 1.5 times ${haElectionTimeoutMin.key} (${minMs}): members will often campaign at the same time`,
    );
  for (const spec of [haErrorRetries, haReplicationChunkMaxSize])
    if (settings.isOverridden(spec as SettingSpec<unknown>))
      found.push(`${spec.key} is accepted and ignored`);
  return found;
}

/** Long enough for four elections, whatever they take. */
export function snapshotWatchdogMs(settings: Settings): number {
  return Math.max(settings.get(haSnapshotWatchdogTimeout), 4 * settings.get(haElectionTimeoutMax));
}
