import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { call } from './http-call.ts';
import { parseFlags } from './flags.ts';

/*
 * Makes the Secrets of a release that no render may hold, when they are missing (chart/GIT-TOOLS.md). One that exists
 * is left alone; of it only the metadata is read, since a second release must not take the password of the first one.
 */

const accountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const timeoutMs = 15_000;

export interface WantedSecret {
  readonly name: string;
  readonly key: string;
  readonly length: number;
}

export interface SecretApi {
  /** @returns the status of the answer and its text */
  create(namespace: string, secret: object): Promise<{ readonly status: number; body: string }>;
  /** @returns the release that a Secret was made for; undefined when it names none */
  releaseOf(namespace: string, name: string): Promise<string | undefined>;
}

/** @returns one line for each Secret @throws Error when one could be neither made nor found */
export async function makeSecrets(
  api: SecretApi,
  namespace: string,
  release: string,
  wanted: readonly WantedSecret[],
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { name, key, length } of wanted) {
    const { status, body } = await api.create(namespace, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        labels: { 'app.kubernetes.io/instance': release, 'polyad.io/generated-by': 'job' },
      },
      type: 'Opaque',
      immutable: true,
      data: { [key]: Buffer.from(randomText(length)).toString('base64') },
    });
    if (status === 409) {
      const owner = (await api.releaseOf(namespace, name)) ?? release;
      if (owner !== release)
        throw new Error(
          `Secret ${name} belongs to the release ${owner}: set polyad.credentials.rootPassword.secret.generatedName to a name of this release's own`,
        );
      lines.push(`Secret ${name} is there`);
    } else if (status < 300) lines.push(`Secret ${name} made`);
    else throw new Error(`Secret ${name}: the API server answered ${status}: ${body}`);
  }
  return lines;
}

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** @throws Error for a text that is not `name:key:length` */
export function parseWanted(text: string): WantedSecret {
  const [, name, key, length] = /^([^:]+):([^:]+):(\d+)$/.exec(text) ?? [];
  if (name === undefined || key === undefined)
    throw new Error(`--secret '${text}' must be name:key:length`);
  return { name, key, length: Number(length) };
}

/** The command `make-secrets --namespace= --release= --secret=name:key:length...`. */
export async function runMakeSecrets(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  write: (line: string) => void,
): Promise<number> {
  const flags = parseFlags(words, ['namespace', 'release', 'secret']);
  const token = (await readFile(join(accountDirectory, 'token'), 'utf8')).trim();
  const authority = await readFile(join(accountDirectory, 'ca.crt'), 'utf8');
  const host = environment['KUBERNETES_SERVICE_HOST'] ?? 'kubernetes.default.svc';
  const address = host.includes(':') ? `[${host}]` : host;
  const port = environment['KUBERNETES_SERVICE_PORT_HTTPS'] ?? '443';
  const secretsOf = (namespace: string) =>
    `https://${address}:${port}/api/v1/namespaces/${namespace}/secrets`;
  const Authorization = `Bearer ${token}`;
  const api: SecretApi = {
    create: (namespace, secret) =>
      call({
        method: 'POST',
        url: secretsOf(namespace),
        headers: { Authorization, 'Content-Type': 'application/json' },
        body: JSON.stringify(secret),
        timeoutMs,
        authority,
      }),
    releaseOf: async (namespace, name) => {
      const Accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
      const url = `${secretsOf(namespace)}/${name}`;
      const headers = { Authorization, Accept };
      const { status, body } = await call({ method: 'GET', url, headers, timeoutMs, authority });
      if (status !== 200) return undefined;
      const { metadata } = JSON.parse(body) as {
        readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
      };
      return metadata?.labels?.['app.kubernetes.io/instance'];
    },
  };
  const wanted = flags.all('secret').map(parseWanted);
  const release = flags.one('release') ?? '';
  for (const line of await makeSecrets(api, flags.one('namespace') ?? '', release, wanted))
    write(`${line}\n`);
  return 0;
}
