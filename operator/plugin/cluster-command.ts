import type { ClusterObject } from '../api/cluster.ts';
import { describeChange } from './describe-change.ts';
import { describeCluster } from './describe-cluster.ts';
import type { ClusterEvent } from './describe-cluster.ts';

/*
 * `polyad cluster NAME`, or `kubectl polyad cluster NAME`. Everything goes through kubectl, so that contexts, credentials and
 * its flags are those that people have. Reads only: a manifest is tried, never applied.
 */

export const usage = `kubectl polyad cluster NAME [--filename FILE] [flags of kubectl: -n, --context, --kubeconfig ...]

  Who leads, who lags, what waits and why. With a manifest (--filename, -f): what it would change, and whether members restart.
`;

/** Resolves with what it printed; rejects with what it complained about. */
export type Kubectl = (words: readonly string[]) => Promise<string>;

interface Wanted {
  readonly name: string;
  readonly file: string | undefined;
  /** For kubectl, as they are. */
  readonly flags: readonly string[];
}

/** Flags of kubectl that take a value as their next word. */
const withValue = new Set([
  ...['-n', '--namespace', '--context', '--kubeconfig', '--cluster', '--user', '--as', '--token'],
  ...['-s', '--server', '--request-timeout', '--certificate-authority'],
]);

/** @returns undefined for words that are no use of this command */
export function parseWords(words: readonly string[]): Wanted | undefined {
  const flags: string[] = [];
  const names: string[] = [];
  let file: string | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const given = /^--filename=(.*)$/.exec(word)?.[1];
    if (given !== undefined) file = given;
    else if (word === '-f' || word === '--filename') file = words[++at];
    else if (withValue.has(word)) flags.push(word, words[++at] ?? '');
    else if (word.startsWith('-')) flags.push(word);
    else names.push(word);
  }
  const [name, ...more] = names;
  if (name === undefined || more.length > 0 || flags.includes('-h') || flags.includes('--help'))
    return undefined;
  return { name, file, flags };
}

/** @param nowMs milliseconds since 1970 @returns the exit code */
export async function runCluster(
  words: readonly string[],
  kubectl: Kubectl,
  out: { readonly write: (text: string) => void; readonly complain: (text: string) => void },
  nowMs: number,
): Promise<number> {
  const wanted = parseWords(words);
  if (wanted === undefined) {
    out.complain(usage);
    return 2;
  }
  try {
    out.write(`${(await lines(wanted, kubectl, nowMs)).join('\n')}\n`);
    return 0;
  } catch (error) {
    out.complain(`${error instanceof Error ? error.message.trim() : String(error)}\n`);
    return 1;
  }
}

async function lines(
  { name, file, flags }: Wanted,
  kubectl: Kubectl,
  nowMs: number,
): Promise<readonly string[]> {
  const read = async (...what: readonly string[]) =>
    JSON.parse(await kubectl([...what, '-o', 'json', ...flags])) as unknown;
  const cluster = (await read('get', 'clusters.polyad.io', name)) as ClusterObject;
  if (file === undefined) {
    const selector = `regarding.kind=Cluster,regarding.name=${name}`;
    const events = await read('get', 'events.events.k8s.io', `--field-selector=${selector}`)
      .then((found) => (found as { readonly items?: readonly ClusterEvent[] }).items ?? [])
      // Not everybody may read events; the rest is worth telling.
      .catch(() => []);
    return describeCluster(cluster, events, nowMs);
  }
  const tried = (await read('apply', '--dry-run=server', '--filename', file)) as ClusterObject & {
    readonly items?: readonly ClusterObject[];
  };
  const after = (tried.items ?? [tried]).find(
    ({ kind, metadata }) => kind === 'Cluster' && metadata.name === name,
  );
  if (after === undefined) throw new Error(`${file} holds no Cluster ${name}`);
  return describeChange(cluster, after);
}
