import type { ApiServer } from './api-server.ts';
import type { Namespace } from './objects.ts';

/*
 * What the operator says of itself: its memory and every kind of call it made, by verb and resource and the answer. The calls
 * are compared with the rights it has, so that none is missing and none is unused.
 */

const line = /^([a-z_]+)(?:\{(.*)\})? ([0-9.e+-]+)$/;

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

function parse(text: string): readonly Sample[] {
  return text.split('\n').flatMap((row) => {
    const [, name = '', labels = '', value] = line.exec(row) ?? [];
    if (value === undefined) return [];
    const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, key, word]) => [key, word]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/** The numbers of each pod of the operator, by its name. */
export async function operatorNumbers(
  api: ApiServer,
  operator: Namespace,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const found = new Map<string, readonly Sample[]>();
  for (const { metadata } of await operator.list(
    'pods',
    '-l',
    'app.kubernetes.io/name=polyad-operator',
  )) {
    const path = `/api/v1/namespaces/${operator.name}/pods/${metadata.name}:8080/proxy/metrics`;
    const text = await api.text(path);
    if (text !== undefined) found.set(metadata.name, parse(text));
  }
  return found;
}

/** Resident memory of the pods of the operator in megabytes, the largest first. */
export function residentMegabytes(numbers: ReadonlyMap<string, readonly Sample[]>): number[] {
  return [...numbers.values()]
    .flat()
    .filter(({ name }) => name === 'process_resident_memory_bytes')
    .map(({ value }) => value / 1e6)
    .sort((a, b) => b - a);
}

/** Calls that write, leases excepted, of all pods together. */
export function writesOf(numbers: ReadonlyMap<string, readonly Sample[]>): number {
  const writes = ['create', 'update', 'patch', 'delete'];
  return [...numbers.values()]
    .flat()
    .filter(({ name, labels }) => {
      if (name !== 'polyad_operator_api_calls_total') return false;
      return labels['resource'] !== 'leases' && writes.includes(labels['verb'] ?? '');
    })
    .reduce((sum, { value }) => sum + value, 0);
}

/** Gathers which rights were used over a run; operators come and go, so it is asked after each scenario. */
export class RightsAudit {
  readonly #used = new Set<string>();
  readonly #denied = new Set<string>();

  note(numbers: ReadonlyMap<string, readonly Sample[]>): void {
    for (const { name, labels } of [...numbers.values()].flat()) {
      if (name !== 'polyad_operator_api_calls_total') continue;
      const what = `${labels['group']}/${labels['resource']}`;
      const call = `${labels['verb']} ${what}`;
      // An apply that makes an object needs the right to create it, too.
      if (labels['verb'] === 'patch' && labels['code'] === '201') this.#used.add(`create ${what}`);
      if (labels['code'] === '403') this.#denied.add(call);
      else this.#used.add(call);
    }
  }

  /** Calls that the API server denied for want of a right. */
  get denied(): readonly string[] {
    return [...this.#denied].sort();
  }

  /** @returns granted rights that no call used */
  unused(granted: readonly string[]): readonly string[] {
    return granted.filter((right) => !this.#used.has(right)).sort();
  }

  /** How many different calls were seen. */
  get size(): number {
    return this.#used.size;
  }
}
