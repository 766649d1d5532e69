import type { PrecheckReport } from './build.ts';
import type { ClusterObject } from './cluster.ts';
import type { RaftAnswer } from './group.ts';
import type { MonitorKind } from './names.ts';
import type {
  Claim,
  ConfigMap,
  Job,
  KubernetesObject,
  Pod,
  StatefulSet,
} from './kubernetes-object.ts';

/** Everything a decision is made from: the world around one Cluster as it was read at one moment. */
export interface Observation {
  readonly cluster: ClusterObject;
  readonly operator: OperatorFacts;
  /** Objects with the names that the operator would give, ours or not, by `objectKey`. */
  readonly objects: ReadonlyMap<string, KubernetesObject>;
  /**
   * Keys of objects that are exactly as the API server left them after our last apply of the content hash given here.
   * Continuity for one process only: without it the content itself is compared.
   */
  readonly settled: ReadonlyMap<string, string>;
  readonly statefulSet: StatefulSet | undefined;
  readonly membersRecord: ConfigMap | undefined;
  readonly secrets: ObservedSecrets;
  /** Undefined when the spec asks for none. */
  readonly certificates: ObservedCertificates | undefined;
  /** By ordinal, from 0 without gaps: those that are wanted and those that are there. */
  readonly members: readonly ObservedMember[];
  /** For how long the same member has been seen to lead; undefined: for the first time, or none does. */
  readonly leaderForMs: number | undefined;
  /** By name in the group, as the same leader has told of them in the same term. */
  readonly learners: ReadonlyMap<string, ObservedLearner>;
  /** By name, for how long a member that Kubernetes calls ready has been asked of its group in vain. */
  readonly silentForMs: ReadonlyMap<string, number>;
  readonly claims: readonly Claim[];
  /** Undefined where they may not be read. */
  readonly jobs: readonly Job[] | undefined;
  /** What those that try an image have found out, by the name of the Job. */
  readonly prechecks: ReadonlyMap<string, PrecheckReport>;
  /** The Restore of `spec.bootstrap.fromBackup`; undefined: there is none. */
  readonly bootstrap: ObservedBootstrap | undefined;
  /** Whether volumes of a class can grow, by the name of the class: of those that have to, and that may be read. */
  readonly isExpandable: ReadonlyMap<string, boolean>;
  /** Kinds of the Prometheus operator that this Kubernetes has and that may be read. */
  readonly monitorKinds: ReadonlySet<MonitorKind>;
  /** Whether this Kubernetes has the Certificates of cert-manager, and they may be read. */
  readonly hasCertManager: boolean;
  /** Known only when it matters: while a Cluster is deleted that wants a last backup. */
  readonly isNamespaceTerminating: boolean;
  /** What was refused for good, by `targetOf` the action; asked again after a while or when the spec changes. */
  readonly rejections: ReadonlyMap<string, Rejection>;
  /** Effects on the running member that this process has brought about, by a name that holds their content. */
  readonly done: ReadonlySet<string>;
  /** Those that this process has begun and that have not ended. */
  readonly running: ReadonlySet<string>;
  /** The last change of the group that this process has begun, unless it was done. */
  readonly groupCall: GroupCall | undefined;
}

/** A change of the group: under way, or failed so many times in a row. */
export interface GroupCall {
  /** `targetOf` the action. */
  readonly target: string;
  readonly isRunning: boolean;
  readonly failures: number;
  /** Of the last failure. */
  readonly message: string;
  readonly atMs: number;
}

export interface ObservedLearner {
  /** How many polls in a row it had caught up. */
  readonly caughtUpPolls: number;
  /** For how long it has got no further entry. */
  readonly standstillMs: number;
}

export interface ObservedBootstrap {
  readonly phase: string | undefined;
  /** How far it is, or why it failed. */
  readonly message: string;
}

/** One member: its pod, and what it says of itself. */
export interface ObservedMember {
  readonly ordinal: number;
  /** Of its pod. */
  readonly name: string;
  /** Its name in the group. */
  readonly peerId: string;
  readonly pod: Pod | undefined;
  /** Whether its pod was started with replication. */
  readonly isReplicated: boolean;
  /** The node of the pod; undefined when there is no pod on a node, or nodes may not be read. */
  readonly node: ObservedNode | undefined;
  readonly view: MemberView;
  /** What it says of the group; undefined when it could not be asked, or has no answer yet. */
  readonly raft: RaftAnswer | undefined;
}

export interface Rejection {
  readonly message: string;
  /** Status of the answer. */
  readonly code: number;
  /** What it was about beside the spec: the hash of a password. Another one is tried at once. */
  readonly about?: string | undefined;
  readonly generation: number;
  readonly atMs: number;
}

/** What is the same for all clusters of this operator. */
export interface OperatorFacts {
  /** Where it runs: its pods may reach members whatever a network policy says. */
  readonly namespace: string;
  /** Which installation it is, the same in all its pods; another one that cares for the same Clusters has another. */
  readonly identity: string;
  readonly defaultServerImage: string;
  /** Raised when the rendered pods of the same spec change; shown, never a reason to restart. */
  readonly renderVersion: string;
}

export interface ObservedNode {
  readonly name: string;
  readonly zone: string | undefined;
  readonly exists: boolean;
  readonly isReady: boolean;
  readonly isOutOfService: boolean;
}

export interface ObservedSecrets {
  /** The wanted root password: hash only, with what the Secret is called. Undefined when there is none. */
  readonly root: ObservedPassword | undefined;
  /** The password that the member is known to have taken. */
  readonly applied: ObservedPassword | undefined;
  readonly token: { readonly volumeIdentity: string | undefined } | undefined;
  /** The token that members shall share; undefined when its Secret is not there. */
  readonly wantedToken: Omit<ObservedPassword, 'lengthInCharacters'> | undefined;
  /** What they read: the one that they send, then others that they accept. */
  readonly appliedToken:
    | { readonly hashes: readonly string[]; readonly sinceMs: number | undefined }
    | undefined;
}

/** Certificates of `spec.tls`: what members show, and who signed it when that is us. */
export interface ObservedCertificates {
  readonly leaf: ObservedCertificate | undefined;
  readonly authority: ObservedCertificate | undefined;
}

export type ObservedCertificate =
  | { readonly problem: string; readonly notAfterMs?: undefined }
  | {
      readonly problem: undefined;
      readonly notAfterMs: number;
      readonly serial: string;
      readonly dnsNames: readonly string[];
      readonly isIssuedByAuthority: boolean;
      /** Serial numbers of the authorities beside it, which whoever reads the Secret trusts. */
      readonly trusted: readonly string[];
      /** The same as PEM text; empty where there is none. */
      readonly authorities: string;
      /** Since when these; undefined when an earlier version wrote them. */
      readonly trustedSinceMs: number | undefined;
    };

export interface ObservedPassword {
  readonly secretName: string;
  /** SHA-256 of the password, shortened: enough to see a difference, useless otherwise. */
  readonly hash: string;
  readonly lengthInCharacters: number;
}

/** What the member itself says, over HTTP. `undefined` means unknown, which is neither good nor bad. */
export interface MemberView {
  /** `GET /ready` of this moment. */
  readonly isReady: boolean | undefined;
  readonly version: string | undefined;
  /** Effective settings by full name, when they were asked for. */
  readonly settings: ReadonlyMap<string, MemberSetting> | undefined;
  /** `get backup config`, or that the server has no such command. */
  readonly backup: { readonly config: unknown } | 'unsupported' | undefined;
  /** The configuration of the tool server, or that there is none in its image. */
  readonly mcp: { readonly config: unknown } | 'unsupported' | undefined;
  /** Of each database, newest archive and newest failure; undefined when it was not asked for. */
  readonly backups: readonly DatabaseBackups[] | undefined;
  /** Why the last call with credentials failed, if it did. */
  readonly problem: string | undefined;
}

/** Times in milliseconds since 1970; undefined: none is known. */
export interface DatabaseBackups {
  readonly database: string;
  readonly succeededAtMs: number | undefined;
  readonly failedAtMs: number | undefined;
  /** Whether the last attempt since the member started failed; undefined when there was none. */
  readonly isFailing: boolean | undefined;
  readonly problem: string | undefined;
}

export interface MemberSetting {
  readonly value: string;
  readonly default: string;
}

export const unknownMember: MemberView = {
  isReady: undefined,
  version: undefined,
  settings: undefined,
  backup: undefined,
  mcp: undefined,
  backups: undefined,
  problem: undefined,
};

export function objectKey(object: {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}): string {
  return `${object.kind}/${object.metadata.name}`;
}
