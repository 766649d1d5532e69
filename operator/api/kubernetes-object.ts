/*
 * The parts of Kubernetes objects that the operator reads. Everything is optional where the API server may leave it out;
 * what the operator writes is plain JSON.
 */

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [field: string]: Json | undefined };

export type JsonObject = { readonly [field: string]: Json | undefined };

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

/** Any object. Fields beside the metadata are read through the narrower interfaces below. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** An object as the operator writes it: content in plain JSON. */
export interface DesiredObject extends KubernetesObject {
  readonly spec?: JsonObject;
  readonly data?: Readonly<Record<string, string>>;
  readonly automountServiceAccountToken?: boolean;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: {
    readonly reason?: string;
    readonly message?: string;
    readonly exitCode?: number;
    readonly finishedAt?: string;
  };
}

export interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly image?: string;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface Pod extends KubernetesObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly {
      readonly name: string;
      readonly image?: string;
      readonly args?: readonly string[];
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
      readonly resources?: Json;
      readonly volumeMounts?: readonly {
        readonly name: string;
        readonly mountPath: string;
        readonly subPath?: string;
      }[];
    }[];
    readonly initContainers?: readonly { readonly name: string }[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly emptyDir?: object;
      readonly secret?: {
        readonly secretName?: string;
        readonly items?: readonly { readonly key: string; readonly path: string }[];
      };
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly PodCondition[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface Claim extends KubernetesObject {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
  readonly status?: {
    readonly phase?: string;
    readonly capacity?: Readonly<Record<string, string>>;
    readonly conditions?: readonly PodCondition[];
  };
}

export interface ClaimTemplate {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly accessModes?: readonly string[];
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
}

export interface StatefulSet extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly template?: {
      readonly metadata?: {
        readonly annotations?: Readonly<Record<string, string>>;
      };
      readonly spec?: Pod['spec'];
    };
    readonly volumeClaimTemplates?: readonly ClaimTemplate[];
  };
  readonly status?: {
    readonly updateRevision?: string;
    readonly currentRevision?: string;
    readonly observedGeneration?: number;
    readonly replicas?: number;
  };
}

export interface Job extends KubernetesObject {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly completionTime?: string;
  };
}

export interface Secret extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface Node extends KubernetesObject {
  readonly spec?: { readonly taints?: readonly { readonly key: string }[] };
  readonly status?: { readonly conditions?: readonly PodCondition[] };
}

export interface StorageClass extends KubernetesObject {
  readonly allowVolumeExpansion?: boolean;
}
