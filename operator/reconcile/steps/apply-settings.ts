import type { Action } from '../../api/decision.ts';
import { contentHash } from '../../resources/content-hash.ts';
import { backupJson } from '../../resources/managed-files.ts';
import { mcpChange, mcpHash } from '../../resources/mcp-config.ts';
import { backupHash, memberNeeds, unsupportedMark } from '../../resources/member-needs.ts';
import { incarnationOf, isReady } from '../../resources/pod-state.ts';
import { settingsByClass } from '../../resources/restart-inputs.ts';
import { lastRejection, lookAgain, note, rejectionOf, stall } from '../pass.ts';
import type { Draft, Pass, Step } from '../pass.ts';
import { holds } from '../same-content.ts';

const credentialCodes: ReadonlySet<number> = new Set([401, 403, 429]);

/** What a running member takes over without a restart (operator.md 8.5): hot settings, the schedules of backups, the tool server. */
export const applySettings: Step = (pass, draft) => {
  const pod = pass.seen.pod;
  if (pod === undefined || !isReady(pod)) return undefined;
  const needs = memberNeeds(pod, pass.spec, pass.previous);
  if (needs.settings) {
    const action = hotSettingsAction(pass, draft, incarnationOf(pod));
    if (action === 'wait') return undefined;
    if (action !== undefined) return { action };
  }
  const { hot } = settingsByClass(pass.spec);
  draft.applied.hotHash = contentHash(hot);
  draft.applied.hotKeys = Object.keys(hot).sort();
  if (needs.backup) {
    const action = backupAction(pass, draft, incarnationOf(pod));
    if (action === 'wait') return undefined;
    if (action !== undefined) return { action };
  }
  if (pass.spec.backup === undefined) draft.applied.backupHash = undefined;
  if (needs.mcp) {
    const action = mcpAction(pass, draft, incarnationOf(pod));
    if (action === 'wait') return undefined;
    if (action !== undefined) return { action };
  }
  if (pass.spec.mcp === undefined) draft.applied.mcpHash = undefined;
  draft.applied.hotFor = incarnationOf(pod);
  return undefined;
};

/** `wait`: the member has not said yet what it runs with, or refuses for now. */
function hotSettingsAction(
  pass: Pass,
  draft: Draft,
  incarnation: string,
): Action | 'wait' | undefined {
  const { hot } = settingsByClass(pass.spec);
  if (pass.seen.done.has(`set-settings ${contentHash(hot)} ${incarnation}`)) return undefined;
  const refusal = refusalOf(pass, draft, 'set-settings');
  const effective = pass.seen.member.settings;
  if (refusal !== undefined || effective === undefined) {
    holdBack(pass, draft, refusal);
    return 'wait';
  }
  const gone = (pass.previous.applied?.hotKeys ?? []).filter((key) => !(key in hot));
  const wanted = [
    ...Object.entries(hot),
    ...gone.map((key) => [key, effective.get(key)?.default ?? ''] as const),
  ];
  const changes = wanted
    .filter(([key, value]) => effective.get(key)?.value !== value)
    .map(([key, value]) => ({ key, value }));
  if (changes.length === 0) return undefined;
  note(draft, 'HotSettingApplied', changes.map(({ key }) => key).join(', '));
  return { kind: 'set-settings', changes };
}

function backupAction(pass: Pass, draft: Draft, incarnation: string): Action | 'wait' | undefined {
  const { member, done } = pass.seen;
  const config = backupJson(pass.spec.backup) ?? '';
  const hash = backupHash(pass.spec);
  if (member.backup === 'unsupported') {
    draft.applied.backupHash = `${unsupportedMark}${hash}`;
    return undefined;
  }
  const refusal = refusalOf(pass, draft, 'set-backup-config');
  if (refusal !== undefined || member.backup === undefined) {
    holdBack(pass, draft, refusal);
    return 'wait';
  }
  const isApplied =
    holds(member.backup.config, JSON.parse(config)) ||
    done.has(`set-backup-config ${hash} ${incarnation}`);
  if (isApplied) {
    draft.applied.backupHash = hash;
    return undefined;
  }
  note(draft, 'BackupConfigApplied', 'the schedules of spec.backup take effect');
  return { kind: 'set-backup-config', config };
}

function mcpAction(pass: Pass, draft: Draft, incarnation: string): Action | 'wait' | undefined {
  const { member, done } = pass.seen;
  const hash = mcpHash(pass.spec);
  if (member.mcp === 'unsupported') {
    draft.applied.mcpHash = `${unsupportedMark}${hash}`;
    return undefined;
  }
  const refusal = refusalOf(pass, draft, 'change-mcp-config');
  if (refusal !== undefined || member.mcp === undefined) {
    holdBack(pass, draft, refusal);
    if (pass.previous.applied?.mcpHash !== hash)
      draft.progress ??= { reason: 'ApplyingSettings', message: refusal ?? 'asking the member' };
    return 'wait';
  }
  const change = mcpChange(member.mcp.config, pass.spec.mcp ?? {});
  if (change === undefined || done.has(`change-mcp-config ${hash} ${incarnation}`)) {
    draft.applied.mcpHash = hash;
    return undefined;
  }
  note(draft, 'McpConfigApplied', Object.keys(change).join(', '));
  return { kind: 'change-mcp-config', change: JSON.stringify(change) };
}

/** Why the member cannot be told now. What it has refused of this spec stays wrong while it is asked again. */
function refusalOf(pass: Pass, draft: Draft, kind: Action['kind']): string | undefined {
  const rejection = lastRejection(pass, kind);
  if (rejection !== undefined && !credentialCodes.has(rejection.code)) {
    draft.hotProblem = rejection.message;
    stall(draft, 'InvalidSpec', rejection.message);
  }
  return rejectionOf(pass, draft, kind) ?? pass.seen.member.problem;
}

/** A Cluster is not ready for its spec before the member runs with it. */
function holdBack(pass: Pass, draft: Draft, refusal: string | undefined): void {
  if (refusal !== undefined) draft.hotProblem = refusal;
  // What only another spec can mend is not asked for every other second.
  if (draft.stalled === undefined) lookAgain(draft, 2000);
  const { hot } = settingsByClass(pass.spec);
  if (pass.previous.applied?.hotHash !== contentHash(hot))
    draft.progress ??= { reason: 'ApplyingSettings', message: refusal ?? 'asking the member' };
}

/** Whether the server of this version said that it has no scheduler for backups, or no tool server. */
export function isUnsupported(hash: string | undefined): boolean {
  return hash?.startsWith(unsupportedMark) ?? false;
}
