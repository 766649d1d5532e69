/** What the environment says of a run (e2e text, 2.4). A provider that makes its own cluster fills in the rest. */
export interface E2eSettings {
  provider: string | undefined;
  readonly level: number;
  readonly only: ReadonlySet<string>;
  /** Of the scenarios above level 0 the `number`th of `of` parts; those of level 0 are in every part. */
  readonly part: { readonly number: number; readonly of: number };
  /** Unix time in seconds; a scenario that has not begun by then is skipped, by name. */
  readonly until: number;
  readonly parallel: number;
  readonly keep: boolean;
  readonly artifacts: string | undefined;
  context: string | undefined;
  allowsNodeChaos: boolean;
  nodeHook: string | undefined;
  /** The operator cares for the whole cluster, which nobody else uses. */
  isClusterScoped: boolean;
  image: string | undefined;
  /** A bucket that pods reach, of any S3-compatible storage: `http://KEY:SECRET@HOST:PORT/BUCKET`. */
  readonly bucket: URL | undefined;
  readonly kubernetesVersion: string | undefined;
  /** The program; the first one found when nothing is said. */
  helm: string;
}

const { env } = process;

function wordsOf(text: string | undefined): ReadonlySet<string> {
  return new Set((text ?? '').split(',').filter((word) => word !== ''));
}

/** `2/3`: the second of three parts. @throws Error */
export function partOf(text = '1/1'): E2eSettings['part'] {
  const [number, of, ...more] = text.split('/').map(Number);
  const isPart = Number.isInteger(number) && Number.isInteger(of) && more.length === 0;
  if (!isPart || !number || !of || number < 1 || number > of)
    throw new Error(`E2E_PART is '${text}'; write 2/3 for the second of three parts`);
  return { number, of };
}

export const e2eSettings: E2eSettings = {
  provider: env['E2E_PROVIDER'],
  level: Number(env['E2E_LEVEL'] ?? '1'),
  only: wordsOf(env['E2E_ONLY']),
  part: partOf(env['E2E_PART']),
  until: Number(env['E2E_UNTIL'] ?? 'Infinity'),
  parallel: Number(env['E2E_PARALLEL'] ?? '2'),
  keep: env['E2E_KEEP'] === '1',
  artifacts: env['E2E_ARTIFACTS'],
  context: env['E2E_CONTEXT'],
  allowsNodeChaos: env['E2E_ALLOW_NODE_CHAOS'] === '1',
  nodeHook: env['E2E_NODE_HOOK'],
  isClusterScoped: env['E2E_CLUSTER_SCOPE'] === '1',
  image: env['E2E_SERVER_IMAGE'],
  bucket: env['E2E_S3'] === undefined ? undefined : new URL(env['E2E_S3']),
  kubernetesVersion: env['E2E_K8S_VERSION'],
  helm: env['E2E_INSTALL'] ?? '',
};
