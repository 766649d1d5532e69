import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { call } from './http-call.ts';
import type { Answer } from './http-call.ts';
import { parseFlags } from './flags.ts';

/*
 * Before a release of one server becomes a group (chart/README.md, In operation): its StatefulSet is taken away with its pod, data
 * and claims stay, and the upgrade makes it anew with all members at once. A rolling update would start at the newcomers, which
 * wait for the one that holds the data, while that one waits for its turn.
 */

const accountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';
const callMs = 15_000;
const pollMs = 1000;
/** Longer than a pod has to end. */
const pollsMax = 240;
const groupArgument = '-Dservice.ha.enabled=true';

/** The StatefulSet of the release. */
export interface SetApi {
  get(): Promise<Answer>;
  /** Its pods go first. */
  delete(uid: string): Promise<Answer>;
}

interface LiveSet {
  readonly metadata?: { readonly uid?: string };
  readonly spec?: {
    readonly template?: {
      readonly spec?: { readonly containers?: readonly { readonly args?: readonly string[] }[] };
    };
  };
}

/** @returns what was done, one line @throws Error when the server could not be ended */
export async function beginGroup(
  api: SetApi,
  wait: () => Promise<void> = () => pause(pollMs),
): Promise<string> {
  const found = await api.get();
  if (found.status === 404) return 'there is no StatefulSet: nothing to do';
  if (found.status !== 200)
    throw new Error(`the API server answered ${found.status}: ${found.body}`);
  const { metadata, spec } = JSON.parse(found.body) as LiveSet;
  const containers = spec?.template?.spec?.containers ?? [];
  if (containers.some(({ args = [] }) => args.includes(groupArgument)))
    return 'the members are a group already: nothing to do';
  const uid = metadata?.uid ?? '';
  const deleted = await api.delete(uid);
  if (deleted.status >= 300 && deleted.status !== 404)
    throw new Error(`the API server answered ${deleted.status}: ${deleted.body}`);
  for (let poll = 0; poll < pollsMax; poll++) {
    if ((await api.get()).status === 404)
      return 'the server has ended; its volume waits for the group';
    await wait();
  }
  throw new Error('the server has not ended in time');
}

/** The command `begin-group --namespace= --name=`. */
export async function runBeginGroup(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  write: (line: string) => void,
): Promise<number> {
  const flags = parseFlags(words, ['namespace', 'name']);
  const token = (await readFile(join(accountDirectory, 'token'), 'utf8')).trim();
  const authority = await readFile(join(accountDirectory, 'ca.crt'), 'utf8');
  const host = environment['KUBERNETES_SERVICE_HOST'] ?? 'kubernetes.default.svc';
  const address = host.includes(':') ? `[${host}]` : host;
  const port = environment['KUBERNETES_SERVICE_PORT_HTTPS'] ?? '443';
  const namespace = flags.one('namespace') ?? '';
  const url = `https://${address}:${port}/apis/apps/v1/namespaces/${namespace}/statefulsets/${flags.one('name') ?? ''}`;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const shared = { url, headers, timeoutMs: callMs, authority };
  const said = await beginGroup({
    get: () => call({ method: 'GET', ...shared }),
    delete: (uid) =>
      call({
        method: 'DELETE',
        ...shared,
        body: JSON.stringify({ propagationPolicy: 'Foreground', preconditions: { uid } }),
      }),
  });
  write(`${said}\n`);
  return 0;
}
