import type { Action } from '../../api/decision.ts';
import type { Pod } from '../../api/kubernetes-object.ts';
import type { ObservedMember } from '../../api/observation.ts';
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
  const done: string[] = [];
  let isWaiting = false;
  const { backupHash: backupBefore, mcpHash: mcpBefore } = draft.applied;
  // Noted of the Cluster once the last member has it: whoever has not been looked at would never be told.
  const takeBack = (): void => {
    draft.applied.backupHash = backupBefore;
    draft.applied.mcpHash = mcpBefore;
  };
  for (const member of pass.seen.members) {
    if (member.pod === undefined || !isReady(member.pod)) continue;
    const action = nextAction(pass, draft, member, member.pod);
    if (action !== undefined && action !== 'wait') {
      takeBack();
      return { action };
    }
    if (action === 'wait') isWaiting = true;
    else done.push(incarnationOf(member.pod));
  }
  const { hotFor, hotForOthers } = pass.previous.applied ?? {};
  noteLives(draft, done, [hotFor, ...(hotForOthers ?? [])]);
  if (isWaiting) takeBack();
  if (isWaiting || done.length === 0) return undefined;
  const { hot } = settingsByClass(pass.spec);
  draft.applied.hotHash = contentHash(hot);
  draft.applied.hotKeys = Object.keys(hot).sort();
  if (pass.spec.backup === undefined) draft.applied.backupHash = undefined;
  if (pass.spec.mcp === undefined) draft.applied.mcpHash = undefined;
  return undefined;
};

/** Lives of members that have been brought up to date; those that are not ready now keep what was known of them. */
function noteLives(
  draft: Draft,
  done: readonly string[],
  before: readonly (string | undefined)[],
): void {
  const uidOf = (life: string) => life.split('/')[0];
  const kept = before.filter(
    (life) => life !== undefined && !done.some((other) => uidOf(other) === uidOf(life)),
  );
  const [first, ...others] = [...done, ...(done.length === 0 ? kept : [])];
  if (first === undefined) return;
  draft.applied.hotFor = first;
  draft.applied.hotForOthers =
    others.length === 0 ? undefined : others.filter((life) => life !== undefined);
}

/** What one member has to be told; undefined: nothing. */
function nextAction(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  pod: Pod,
): Action | 'wait' | undefined {
  const needs = memberNeeds(pod, pass.spec, pass.previous);
  const life = incarnationOf(pod);
  if (needs.settings) {
    const action = hotSettingsAction(pass, draft, member, life);
    if (action !== undefined) return action;
  }
  if (needs.backup) {
    const action = backupAction(pass, draft, member, life);
    if (action !== undefined) return action;
  }
  return needs.mcp ? mcpAction(pass, draft, member, life) : undefined;
}

/** `wait`: the member has not said yet what it runs with, or refuses for now. */
function hotSettingsAction(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  incarnation: string,
): Action | 'wait' | undefined {
  const { hot } = settingsByClass(pass.spec);
  if (pass.seen.done.has(`set-settings ${contentHash(hot)} ${incarnation}`)) return undefined;
  const refusal = refusalOf(pass, draft, member, 'set-settings');
  const effective = member.view.settings;
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
  return { kind: 'set-settings', ordinal: member.ordinal, changes };
}

function backupAction(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  incarnation: string,
): Action | 'wait' | undefined {
  const { done } = pass.seen;
  const { view, ordinal } = member;
  const config = backupJson(pass.spec.backup) ?? '';
  const hash = backupHash(pass.spec);
  if (view.backup === 'unsupported') {
    draft.applied.backupHash = `${unsupportedMark}${hash}`;
    return undefined;
  }
  const refusal = refusalOf(pass, draft, member, 'set-backup-config');
  if (refusal !== undefined || view.backup === undefined) {
    holdBack(pass, draft, refusal);
    return 'wait';
  }
  const isApplied =
    holds(view.backup.config, JSON.parse(config)) ||
    done.has(`set-backup-config ${hash} ${incarnation}`);
  if (isApplied) {
    draft.applied.backupHash = hash;
    return undefined;
  }
  note(draft, 'BackupConfigApplied', 'the schedules of spec.backup take effect');
  return { kind: 'set-backup-config', ordinal, config };
}

function mcpAction(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  incarnation: string,
): Action | 'wait' | undefined {
  const { done } = pass.seen;
  const { view, ordinal } = member;
  const hash = mcpHash(pass.spec);
  if (view.mcp === 'unsupported') {
    draft.applied.mcpHash = `${unsupportedMark}${hash}`;
    return undefined;
  }
  const refusal = refusalOf(pass, draft, member, 'change-mcp-config');
  if (refusal !== undefined || view.mcp === undefined) {
    holdBack(pass, draft, refusal);
    if (pass.previous.applied?.mcpHash !== hash)
      draft.progress ??= { reason: 'ApplyingSettings', message: refusal ?? 'asking the member' };
    return 'wait';
  }
  const change = mcpChange(view.mcp.config, pass.spec.mcp ?? {});
  if (change === undefined || done.has(`change-mcp-config ${hash} ${incarnation}`)) {
    draft.applied.mcpHash = hash;
    return undefined;
  }
  note(draft, 'McpConfigApplied', Object.keys(change).join(', '));
  return { kind: 'change-mcp-config', ordinal, change: JSON.stringify(change) };
}

/** Why the member cannot be told now. What it has refused of this spec stays wrong while it is asked again. */
function refusalOf(
  pass: Pass,
  draft: Draft,
  member: ObservedMember,
  kind: Action['kind'],
): string | undefined {
  const rejection = lastRejection(pass, kind);
  if (rejection !== undefined && !credentialCodes.has(rejection.code)) {
    draft.hotProblem = rejection.message;
    stall(draft, 'InvalidSpec', rejection.message);
  }
  return rejectionOf(pass, draft, kind) ?? member.view.problem;
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
