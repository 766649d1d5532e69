import { setTimeout as pause } from 'node:timers/promises';
import type { ScenarioContext } from '../scenario.ts';
import { type KubernetesObject, type Namespace, valueAt } from './objects.ts';
import { must, run } from './programs.ts';

/*
 * Volumes that can be filled without harm to anybody else: each a file system in the memory of its node. Their class lets claims
 * grow; nothing in the cluster does it, so the scenario stands in for the storage system.
 */

const folder = '/mnt/pyd-e2e';

interface SmallVolume {
  readonly name: string;
  readonly host: string;
  readonly path: string;
}

export class SmallVolumes {
  readonly className: string;
  readonly #context: ScenarioContext;
  readonly #volumes: readonly SmallVolume[];

  /** One on each worker. */
  static async make(context: ScenarioContext, gibibytes: number): Promise<SmallVolumes> {
    const className = context.namespace.name;
    const label = '!node-role.kubernetes.io/control-plane';
    const names = await must('kubectl', ['get', 'nodes', '-l', label, '-o', 'name']);
    const volumes = names
      .trim()
      .split('\n')
      .map((line, at) => {
        const name = `${className}-${at}`;
        return { name, host: line.replace('node/', ''), path: `${folder}/${name}` };
      });
    const made = new SmallVolumes(context, className, volumes);
    for (const { host, path } of volumes) {
      await context.node(host, 'exec', 'mkdir', '-p', path);
      const size = `size=${gibibytes}g,mode=0777`;
      await context.node(host, 'exec', 'mount', '-t', 'tmpfs', '-o', size, 'none', path);
    }
    await made.#declare(gibibytes);
    return made;
  }

  private constructor(
    context: ScenarioContext,
    className: string,
    volumes: readonly SmallVolume[],
  ) {
    this.#context = context;
    this.className = className;
    this.#volumes = volumes;
  }

  async #declare(gibibytes: number): Promise<void> {
    const storageClass = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: this.className },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    };
    const volumes = this.#volumes.map(({ name, host, path }) => {
      const isThere = { key: 'kubernetes.io/hostname', operator: 'In', values: [host] };
      return {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name },
        spec: {
          capacity: { storage: `${gibibytes}Gi` },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: this.className,
          local: { path },
          nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [isThere] }] } },
        },
      };
    });
    const list = { apiVersion: 'v1', kind: 'List', items: [storageClass, ...volumes] };
    await must('kubectl', ['apply', '-f', '-'], JSON.stringify(list));
  }

  async #volumeOf(claim: KubernetesObject): Promise<SmallVolume> {
    const name = valueAt(claim, 'spec.volumeName');
    const found = this.#volumes.find((volume) => volume.name === name);
    if (found === undefined) throw new Error(`${claim.metadata.name} is on ${String(name)}`);
    return found;
  }

  /** Leaves not a byte to the pod whose claim it is. */
  async fill(claimName: string): Promise<void> {
    const { namespace, node } = this.#context;
    const { host, path } = await this.#volumeOf(await namespace.require('pvc', claimName));
    const script = `fallocate -l $(($(stat -f -c '%a * %S' ${path}))) ${path}/filler`;
    await node(host, 'exec', 'sh', '-c', script);
  }

  /** Grows claims as they ask for it, each some seconds after it did, until all have so much. */
  async growTo(gibibytes: number, withinMs: number): Promise<void> {
    const { namespace } = this.#context;
    const wanted = `${gibibytes}Gi`;
    const deadline = performance.now() + withinMs;
    for (;;) {
      const claims = await claimsOf(namespace);
      for (const claim of claims)
        if (asked(claim) === wanted && capacityOf(claim) !== wanted)
          await this.#grow(claim, gibibytes);
      if (claims.every((claim) => capacityOf(claim) === wanted)) return;
      if (performance.now() > deadline)
        throw new Error(`asked for: ${claims.map((claim) => asked(claim)).join(' ')}`);
      await pause(1_000);
    }
  }

  async #grow(claim: KubernetesObject, gibibytes: number): Promise<void> {
    const { namespace, node } = this.#context;
    const { name, host, path } = await this.#volumeOf(claim);
    await node(host, 'exec', 'mount', '-o', `remount,size=${gibibytes}g`, path);
    const capacity = { storage: `${gibibytes}Gi` };
    const patch = (part: object) => ['--type=merge', '-p', JSON.stringify(part)];
    await must('kubectl', ['patch', 'pv', name, ...patch({ spec: { capacity } })]);
    const words = ['patch', 'pvc', claim.metadata.name, '--subresource=status'];
    await namespace.kubectl([...words, ...patch({ status: { capacity } })]);
  }

  /** They go with the last claim and the last pod. */
  async remove(): Promise<void> {
    await run('kubectl', ['delete', 'storageclass', this.className, '--ignore-not-found']);
    for (const { name, host, path } of this.#volumes) {
      await run('kubectl', ['delete', 'pv', name, '--wait=false', '--ignore-not-found']);
      await this.#context.node(host, 'exec', 'umount', '-l', path).catch(() => '');
    }
  }
}

function claimsOf(namespace: Namespace): Promise<readonly KubernetesObject[]> {
  return namespace.list('pvc');
}

function asked(claim: KubernetesObject): unknown {
  return valueAt(claim, 'spec.resources.requests.storage');
}

function capacityOf(claim: KubernetesObject): unknown {
  return valueAt(claim, 'status.capacity.storage');
}
