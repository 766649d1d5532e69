import type { ApiServer } from './steps/api-server.ts';
import type { Load } from './steps/load.ts';
import type { KubernetesObject, Namespace } from './steps/objects.ts';

/** What a cluster must have for a scenario to mean something. */
export type Capability =
  | 'node chaos'
  | 'several nodes'
  | 'volume expansion'
  | 'container kill'
  | 'image building'
  | 'S3 storage';

/** What one scenario of the e2e text, section 5, is given. */
export interface ScenarioContext {
  /** Its own, admits restricted pods only. */
  readonly namespace: Namespace;
  readonly image: string;
  /** The namespace in which the operator runs. */
  readonly operatorNamespace: Namespace;
  readonly api: ApiServer;
  /** A namespace beside the own one, gone after the scenario. */
  anotherNamespace(suffix: string): Promise<Namespace>;
  /** A command for nodes: name, action, words. */
  node(name: string, action: string, ...words: readonly string[]): Promise<string>;
  /** The four lines, and what is added to the spec; waits until it is Ready. */
  cluster(name: string, spec?: object): Promise<KubernetesObject>;
  load(cluster: string, rootSecret?: string): Promise<Load>;
  /** A figure for the table. */
  report(text: string): void;
  /** Containers of members that the scenario restarts on purpose are no fault. */
  expectRestarts(): void;
  /** From here on volumes may be deleted. */
  expectLostVolumes(): void;
}

export interface Scenario {
  /** As in the e2e text; a part of it when the whole needs more than one member. */
  readonly id: string;
  readonly title: string;
  /** 0 smoke ... 4 everything. */
  readonly level: number;
  readonly needs?: readonly Capability[];
  /** Takes the operator or a node from the others, or measures: runs alone, after them. */
  readonly isSerial?: boolean;
  /** Brings an operator of its own: that of the run leaves its Clusters alone. */
  readonly hasOwnOperator?: boolean;
  run(context: ScenarioContext): Promise<void>;
}
