import type { ClusterSpec } from '../api/cluster-spec.ts';
import type { ClusterStatus } from '../api/cluster-status.ts';
import type { Pod } from '../api/kubernetes-object.ts';
import { contentHash } from './content-hash.ts';
import { backupJson } from './managed-files.ts';
import { mcpHash } from './mcp-config.ts';
import { incarnationOf, isReady } from './pod-state.ts';
import { settingsByClass } from './restart-inputs.ts';

/*
 * What has to be asked of a running member. The guard installs the managed files when a pod starts; a process that started
 * again inside its pod reads old ones, so each life of the process is looked at once, and after that nothing is asked.
 */

/** Marks a server that has no scheduler for backups, or no tool server. */
export const unsupportedMark = 'unsupported:';

export interface MemberNeeds {
  /** Version and effective settings. */
  readonly info: boolean;
  readonly settings: boolean;
  readonly backup: boolean;
  readonly mcp: boolean;
  /** Which backups there are; once the member runs their schedules. */
  readonly backups: boolean;
}

export function memberNeeds(
  pod: Pod | undefined,
  spec: ClusterSpec,
  status: ClusterStatus,
): MemberNeeds {
  if (pod === undefined || !isReady(pod))
    return { info: false, settings: false, backup: false, mcp: false, backups: false };
  const { hot } = settingsByClass(spec);
  const applied = status.applied ?? {};
  const lives = [applied.hotFor, ...(applied.hotForOthers ?? [])];
  const isNewLife = !lives.includes(incarnationOf(pod));
  const hasHot = Object.keys(hot).length > 0 || (applied.hotKeys ?? []).length > 0;
  const settings = hasHot && (isNewLife || applied.hotHash !== contentHash(hot));
  const known = applied.backupHash?.replace(unsupportedMark, '');
  const knownMcp = applied.mcpHash?.replace(unsupportedMark, '');
  return {
    info: settings || isNewLife || status.version === undefined,
    settings,
    backup: spec.backup !== undefined && (isNewLife || known !== backupHash(spec)),
    backups: spec.backup !== undefined && !isNewLife && applied.backupHash === backupHash(spec),
    mcp: spec.mcp !== undefined && (isNewLife || knownMcp !== mcpHash(spec)),
  };
}

export function backupHash(spec: ClusterSpec): string {
  return contentHash(backupJson(spec.backup) ?? '');
}
