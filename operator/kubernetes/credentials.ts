import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
// Only these small parts of the client library are loaded: its whole is 90 MB of memory and a second and a half of start.
import type { Cluster, Context, User } from '@kubernetes/client-node/dist/config_types.js';
import { ExecAuth } from '@kubernetes/client-node/dist/exec_auth.js';
import { FileAuth } from '@kubernetes/client-node/dist/file_auth.js';

/** How to reach an API server, and as whom. */
export interface Credentials {
  readonly server: URL;
  /** The namespace of the operator, or of the current context. */
  readonly namespace: string;
  readonly skipTlsVerify: boolean;
  /** PEM; read anew for each connection that is made, so that a renewed one counts. */
  readonly authority: () => Promise<string | undefined>;
  /** Client certificate and key in PEM, for kubeconfigs that have one. */
  readonly certificate: () => Promise<{ readonly cert: string; readonly key: string } | undefined>;
  /** Headers of one request. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
}

const accountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Those of the pod when it runs in a cluster, else those of `KUBECONFIG` or `~/.kube/config`. */
export async function findCredentials(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Credentials> {
  const host = environment['KUBERNETES_SERVICE_HOST'];
  const path = environment['KUBECONFIG'];
  if (host !== undefined && path === undefined)
    return inCluster(host, environment['KUBERNETES_SERVICE_PORT'] ?? '443');
  return fromKubeconfig(path ?? join(homedir(), '.kube', 'config'));
}

async function inCluster(host: string, port: string): Promise<Credentials> {
  const user = tokenFileUser(join(accountDirectory, 'token'));
  const tokens = new FileAuth();
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    namespace: (await readFile(join(accountDirectory, 'namespace'), 'utf8')).trim(),
    skipTlsVerify: false,
    authority: () => readFile(join(accountDirectory, 'ca.crt'), 'utf8'),
    certificate: () => Promise.resolve(undefined),
    headers: () => authenticate(tokens, user),
  };
}

function tokenFileUser(tokenFile: string): User {
  return { name: 'pod', authProvider: { name: 'tokenFile', config: { tokenFile } } };
}

/** The library reads the token file anew once a minute. */
async function authenticate(
  provider: FileAuth | ExecAuth,
  user: User,
): Promise<Readonly<Record<string, string>>> {
  const options = { headers: {} as Record<string, string> };
  await provider.applyAuthentication(user, options as never);
  return options.headers;
}

interface Kubeconfig {
  readonly 'current-context'?: string;
  readonly clusters?: unknown[];
  readonly users?: unknown[];
  readonly contexts?: unknown[];
}

/** @throws Error that names what the file lacks */
async function fromKubeconfig(path: string): Promise<Credentials> {
  const { newClusters, newContexts, newUsers, ActionOnInvalid } = await import(
    '@kubernetes/client-node/dist/config_types.js'
  );
  const { parse } = await import('yaml');
  const config = parse(await readFile(path, 'utf8')) as Kubeconfig;
  const strict = { onInvalidEntry: ActionOnInvalid.THROW };
  const context = named<Context>(
    newContexts(config.contexts ?? [], strict),
    config['current-context'],
    `${path}: current-context`,
  );
  const cluster = named<Cluster>(
    newClusters(config.clusters ?? [], strict),
    context.cluster,
    `${path}: cluster of context ${context.name}`,
  );
  const user = named<User>(
    newUsers(config.users ?? [], strict),
    context.user,
    `${path}: user of context ${context.name}`,
  );
  const pem = (data: string | undefined, file: string | undefined) => pemOf(path, data, file);
  const exec = new ExecAuth();
  return {
    server: new URL(cluster.server),
    namespace: context.namespace ?? 'default',
    skipTlsVerify: cluster.skipTLSVerify ?? false,
    authority: () => pem(cluster.caData, cluster.caFile),
    certificate: async () => {
      const cert = await pem(user.certData, user.certFile);
      const key = await pem(user.keyData, user.keyFile);
      return cert === undefined || key === undefined ? undefined : { cert, key };
    },
    headers: async () => {
      if (user.token !== undefined) return { Authorization: `Bearer ${user.token}` };
      return exec.isAuthProvider(user) ? authenticate(exec, user) : {};
    },
  };
}

function named<T extends { readonly name: string }>(
  list: readonly T[],
  name: string | undefined,
  what: string,
): T {
  const found = list.find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`${what} '${name ?? ''}' is not in the file`);
  return found;
}

async function pemOf(
  kubeconfig: string,
  data: string | undefined,
  file: string | undefined,
): Promise<string | undefined> {
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  return file === undefined ? undefined : readFile(resolve(dirname(kubeconfig), file), 'utf8');
}
