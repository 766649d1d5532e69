import type { KubernetesObject } from '../api/kubernetes-object.ts';
import type { Rejection } from '../api/observation.ts';
import type { Remembered } from '../observe/observe-cluster.ts';

const doneMax = 50;

/**
 * What one process remembers about one Cluster: what its own applies left behind, what was refused, what was brought about.
 * Losing it costs a comparison or a repeated call, never a wrong step.
 */
export class ClusterMemory {
  readonly #applied = new Map<string, { readonly hash: string; readonly version: string }>();
  readonly #rejections = new Map<string, Rejection>();
  readonly #done = new Set<string>();

  recall(objects: ReadonlyMap<string, KubernetesObject>): Remembered {
    const settled = new Map<string, string>();
    for (const [key, { hash, version }] of this.#applied) {
      if (objects.get(key)?.metadata.resourceVersion === version) settled.set(key, hash);
    }
    return { settled, rejections: this.#rejections, done: this.#done };
  }

  noteApplied(key: string, hash: string, answer: KubernetesObject): void {
    this.#applied.set(key, { hash, version: answer.metadata.resourceVersion ?? '' });
  }

  noteRejected(target: string, rejection: Rejection): void {
    this.#rejections.set(target, rejection);
  }

  noteAccepted(target: string): void {
    this.#rejections.delete(target);
  }

  noteDone(mark: string): void {
    this.#done.add(mark);
    const [oldest] = this.#done;
    if (this.#done.size > doneMax && oldest !== undefined) this.#done.delete(oldest);
  }
}
