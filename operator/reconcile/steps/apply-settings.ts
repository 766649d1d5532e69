import { contentHash } from '../../resources/content-hash.ts';
import { backupJson } from '../../resources/managed-files.ts';
import { settingsByClass } from '../../resources/restart-inputs.ts';
import { incarnationOf, isReady } from '../pod-state.ts';
import { lookAgain, note, rejectionOf } from '../pass.ts';
import type { Draft, Pass, Step } from '../pass.ts';
import { holds } from '../same-content.ts';

/*
 * What a running member takes over without a restart (operator.md 8.5). The files are installed by the guard when a pod
 * starts; a process that started again inside its pod reads old files, so each life of the process is looked at once.
 */

/** Whether what the member runs with has to be read: after a change, and once in each life of its process. */
export function needsMemberState({ seen, spec, previous }: Pass): {
  readonly settings: boolean;
  readonly backup: boolean;
} {
  const pod = seen.pod;
  if (pod === undefined || !isReady(pod)) return { settings: false, backup: false };
  const { hot } = settingsByClass(spec);
  const applied = previous.applied ?? {};
  const isNewLife = applied.hotFor !== incarnationOf(pod);
  const hasHot = Object.keys(hot).length > 0 || (applied.hotKeys ?? []).length > 0;
  return {
    settings: (isNewLife && hasHot) || applied.hotHash !== contentHash(hot),
    backup:
      backupIsWanted(spec) && (isNewLife || stripped(applied.backupHash) !== backupHash(spec)),
  };
}

function backupIsWanted(spec: Pass['spec']): boolean {
  return spec.backup !== undefined;
}

function backupHash(spec: Pass['spec']): string {
  return contentHash(backupJson(spec.backup) ?? '');
}

const unsupportedMark = 'unsupported:';

function stripped(hash: string | undefined): string | undefined {
  return hash?.replace(unsupportedMark, '');
}

/** Whether the server of this version said that it has no scheduler for backups. */
export function lacksBackup(hash: string | undefined): boolean {
  return hash?.startsWith(unsupportedMark) ?? false;
}

export const applySettings: Step = (pass, draft) => {
  const pod = pass.seen.pod;
  if (pod === undefined || !isReady(pod)) return undefined;
  const needs = needsMemberState(pass);
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
  if (!backupIsWanted(pass.spec)) draft.applied.backupHash = undefined;
  draft.applied.hotFor = incarnationOf(pod);
  return undefined;
};

/** `wait`: the member has not said yet what it runs with, or refuses for now. */
function hotSettingsAction(pass: Pass, draft: Draft, incarnation: string) {
  const { hot } = settingsByClass(pass.spec);
  if (pass.seen.done.has(`set-settings ${contentHash(hot)} ${incarnation}`)) return undefined;
  const refusal = rejectionOf(pass, draft, 'set-settings') ?? pass.seen.member.problem;
  const effective = pass.seen.member.settings;
  if (refusal !== undefined || effective === undefined) {
    if (refusal !== undefined) draft.hotProblem = refusal;
    lookAgain(draft, 2000);
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
  lookAgain(draft, 0);
  return { kind: 'set-settings' as const, changes };
}

function backupAction(pass: Pass, draft: Draft, incarnation: string) {
  const { member, done } = pass.seen;
  const config = backupJson(pass.spec.backup) ?? '';
  const hash = backupHash(pass.spec);
  if (member.backup === 'unsupported') {
    draft.applied.backupHash = `${unsupportedMark}${hash}`;
    return undefined;
  }
  const refusal = rejectionOf(pass, draft, 'set-backup-config') ?? member.problem;
  if (refusal !== undefined || member.backup === undefined) {
    if (refusal !== undefined) draft.hotProblem = refusal;
    lookAgain(draft, 2000);
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
  lookAgain(draft, 0);
  return { kind: 'set-backup-config' as const, config };
}

/** The names under which `done` keeps what an action has brought about. */
export function doneMark(
  pass: Pass,
  kind: 'set-settings' | 'set-backup-config',
): string | undefined {
  const pod = pass.seen.pod;
  if (pod === undefined) return undefined;
  const hash =
    kind === 'set-settings' ? contentHash(settingsByClass(pass.spec).hot) : backupHash(pass.spec);
  return `${kind} ${hash} ${incarnationOf(pod)}`;
}
