import type { ClusterStatus } from './cluster-status.ts';
import type { DesiredObject, KubernetesObject } from './kubernetes-object.ts';

/** What the operator does next about one Cluster: one action at most, and what the status says meanwhile. */
export interface Decision {
  readonly action: Action | undefined;
  readonly status: ClusterStatus;
  /** Told whatever becomes of the action. */
  readonly events: readonly EventNote[];
  /** Told when the action is done. */
  readonly outcome: readonly EventNote[];
  /** Look again after this time even if nothing was reported; undefined leaves it to the regular resync. */
  readonly againAfterMs: number | undefined;
}

export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly note: string;
}

/** Why a Cluster does not go on without a person; each one is an event too. */
export const stallReasons = [
  'BackupFailed',
  'CertManagerMissing',
  'CertificateExpired',
  'ForeignVolume',
  'ImagePullFailed',
  'InvalidSpec',
  'JoinFailed',
  'NameConflict',
  'PermissionDenied',
  'ProgressDeadlineExceeded',
  'QuorumLost',
  'RestoreFailed',
  'SecretMissing',
  'StorageShrinkRefused',
  'Unschedulable',
  'UpgradeFailed',
  'VolumeLost',
] as const;
export type StallReason = (typeof stallReasons)[number];

/** Reasons of events, operator.md 10.7, as far as one member can have them. */
export const eventReasons = [
  ...stallReasons,
  'StallEnded',
  'OperatorChanged',
  'ScalingUp',
  'ScalingDown',
  'MemberAdded',
  'MemberPromoted',
  'MemberRemoved',
  'LeaderTransferred',
  'QuorumWillPause',
  'OperatorConflict',
  'Created',
  'ReleaseAdopted',
  'Ready',
  'LeaderChanged',
  'QuorumRestored',
  'VerificationIncomplete',
  'RollingUpdateStarted',
  'RollingUpdateFinished',
  'SingleMemberRestart',
  'MemberRestarted',
  'EvictionBlocked',
  'HotSettingApplied',
  'BackupConfigApplied',
  'McpConfigApplied',
  'BackupSucceeded',
  'BackupSkipped',
  'RestoreStarted',
  'RestoreFinished',
  'RootPasswordChanged',
  'StorageResizing',
  'StorageResized',
  'UpgradeStarted',
  'UpgradeFinished',
  'UpgradeRolledBack',
  'CertificateRenewed',
  'CARotationStep',
  'TokenRotationStep',
  'HibernatesBehind',
  'Hibernated',
  'Resumed',
  'VolumeReplaced',
  'UnsafeRecoveryStarted',
  'UnsafeRecoveryFinished',
  'NodeGone',
  'Deleting',
] as const;
export type EventReason = (typeof eventReasons)[number];

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid?: string;
}

export type Action =
  /** Server-side apply of objects that the operator owns, in order. */
  | { readonly kind: 'apply'; readonly objects: readonly DesiredObject[] }
  /** Makes a Secret if there is none of its name; an existing one is never touched. */
  | {
      readonly kind: 'create-secret';
      readonly name: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly annotations: Readonly<Record<string, string>>;
      /** Random values by key, or given ones. */
      readonly fill: Readonly<Record<string, SecretValue>>;
    }
  /** Makes the authority of the Cluster if there is none, or a certificate in place of the present one. */
  | { readonly kind: 'issue-certificate'; readonly what: 'authority'; readonly days: number }
  | {
      readonly kind: 'issue-certificate';
      readonly what: 'leaf';
      readonly days: number;
      readonly dnsNames: readonly string[];
    }
  /** The certificate stays; the present authority is trusted, alone or beside those that were. */
  | { readonly kind: 'issue-certificate'; readonly what: 'trust'; readonly isAlone: boolean }
  /** What members read their token from gets these lines: hashes of the wanted one and of lines that are there. */
  | { readonly kind: 'set-token'; readonly name: string; readonly lines: readonly string[] }
  | { readonly kind: 'set-finalizer'; readonly isPresent: boolean }
  /** Makes an object that describes one piece of work, once; one that exists is never touched. */
  | { readonly kind: 'create'; readonly object: DesiredObject }
  /** Merges labels and annotations into a pod or claim. */
  | {
      readonly kind: 'label';
      readonly target: ObjectReference;
      readonly labels: Readonly<Record<string, string | null>>;
      readonly annotations?: Readonly<Record<string, string | null>>;
    }
  /** What somebody else has written becomes ours, with all its fields. */
  | { readonly kind: 'take-over'; readonly target: ObjectReference }
  | {
      readonly kind: 'delete';
      readonly target: ObjectReference;
      /** `orphan` leaves the dependants: pods keep running when their StatefulSet is made anew. */
      readonly propagation: 'background' | 'orphan';
      readonly gracePeriodSeconds?: number;
    }
  /** Asks the API server to end a pod; a budget may refuse (429). */
  | { readonly kind: 'evict'; readonly target: ObjectReference }
  | {
      readonly kind: 'grow-claim';
      readonly target: ObjectReference;
      readonly size: string;
    }
  | {
      readonly kind: 'set-root-password';
      readonly ordinal: number;
      readonly secretName: string;
      readonly key: string;
    }
  | {
      readonly kind: 'set-settings';
      readonly ordinal: number;
      readonly changes: readonly { readonly key: string; readonly value: string }[];
    }
  | { readonly kind: 'set-backup-config'; readonly ordinal: number; readonly config: string }
  | { readonly kind: 'change-mcp-config'; readonly ordinal: number; readonly change: string }
  /** Begins to back up every database; `mark` is among what runs, and then among what was done. */
  | {
      readonly kind: 'back-up';
      readonly ordinal: number;
      readonly mark: string;
      /** When it was begun first: databases that have an archive since then are left out. */
      readonly since: string;
    }
  /** Begins to compare what members hold of every database up to a size; `mark` as above. */
  | {
      readonly kind: 'verify';
      readonly ordinal: number;
      readonly mark: string;
      readonly bytesMax: number;
    }
  | GroupAction;

/** Changes of the group, sent to the member that leads unless said otherwise; `index` is of the configuration that was seen. */
export type GroupAction =
  | {
      readonly kind: 'add-peer';
      readonly ordinal: number;
      readonly peerId: string;
      readonly address: string;
      readonly name: string;
      readonly priority: number | undefined;
      readonly index: number | undefined;
    }
  | {
      readonly kind: 'promote';
      readonly ordinal: number;
      readonly peerIds: readonly string[];
      readonly index: number | undefined;
    }
  | {
      readonly kind: 'remove-peer';
      readonly ordinal: number;
      readonly peerId: string;
      readonly force: boolean;
      readonly index: number | undefined;
    }
  /** Sent to the one that leaves. */
  | {
      readonly kind: 'leave';
      readonly ordinal: number;
      readonly force: boolean;
      readonly index: number | undefined;
    }
  | { readonly kind: 'transfer'; readonly ordinal: number; readonly peerId: string };

const groupKinds: ReadonlySet<Action['kind']> = new Set<GroupAction['kind']>([
  'add-peer',
  'promote',
  'remove-peer',
  'leave',
  'transfer',
]);

/** Whether the action changes the group, or who leads it: begun, and asked after by later looks. */
export function isGroupAction(action: Action): action is GroupAction {
  return groupKinds.has(action.kind);
}

export type SecretValue =
  | { readonly random: number }
  | { readonly uuid: true }
  | { readonly copyOf: { readonly secretName: string; readonly key: string } }
  | { readonly text: string };

/** What a refusal of the action is about: one thing refused holds no other back. */
export function targetOf(action: Exclude<Action, { readonly kind: 'apply' }>): string {
  switch (action.kind) {
    case 'create-secret':
      return `create-secret ${action.name}`;
    case 'create':
      return `create ${action.object.kind}/${action.object.metadata.name}`;
    case 'label':
    case 'take-over':
    case 'delete':
    case 'evict':
    case 'grow-claim':
      return `${action.kind} ${action.target.kind}/${action.target.name}`;
    case 'add-peer':
    case 'remove-peer':
    case 'transfer':
      return `${action.kind} ${action.peerId}`;
    default:
      return action.kind;
  }
}

export function applyTarget({ kind, metadata }: KubernetesObject): string {
  return `apply ${kind}/${metadata.name}`;
}
