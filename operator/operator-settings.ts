import { isLogLevel } from './kubernetes/system-runtime.ts';
import type { LogLevel } from './kubernetes/system-runtime.ts';

/** Settings of the operator process: flags `--name=value`, or variables `POLYAD_OPERATOR_NAME`; flags win. */
export interface OperatorSettings {
  readonly defaultServerImage: string;
  /** Empty: the whole cluster. */
  readonly watchNamespaces: readonly string[];
  /** Label selector for Clusters, or empty. */
  readonly clusterSelector: string;
  readonly leaderElection: boolean;
  readonly leaseName: string;
  /** Where the lease lies; the operator's own namespace when empty. */
  readonly namespace: string;
  readonly concurrency: number;
  readonly pollSeconds: number;
  readonly resyncSeconds: number;
  readonly logLevel: LogLevel;
  readonly host: string;
  /** Metrics and health; 0 lets the system choose. */
  readonly port: number;
}

type Texts = ReadonlyMap<string, string>;

const defaults: Readonly<Record<string, string>> = {
  'default-server-image': '',
  'watch-namespaces': '',
  'cluster-selector': '',
  'leader-election': 'true',
  'lease-name': 'polyad-operator',
  namespace: '',
  concurrency: '10',
  'poll-seconds': '30',
  'resync-seconds': '600',
  'log-level': 'info',
  host: '0.0.0.0',
  port: '8080',
};

/** @throws Error that names an unknown flag or a wrong value */
export function readSettings(
  flags: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): OperatorSettings {
  const texts = new Map(Object.entries(defaults));
  for (const name of Object.keys(defaults)) {
    const variable = `POLYAD_OPERATOR_${name.replaceAll('-', '_').toUpperCase()}`;
    const text = environment[variable];
    if (text !== undefined) texts.set(name, text);
  }
  for (const flag of flags) {
    const [, name = '', text = 'true'] = /^--([a-z-]+)(?:=(.*))?$/.exec(flag) ?? [];
    if (!texts.has(name))
      throw new Error(
        `unknown flag '${flag}'; known: ${Object.keys(defaults)
          .map((key) => `--${key}`)
          .join(' ')}`,
      );
    texts.set(name, text);
  }
  return interpret(texts);
}

function interpret(texts: Texts): OperatorSettings {
  const logLevel = text(texts, 'log-level');
  if (!isLogLevel(logLevel))
    throw new Error(`--log-level '${logLevel}': use debug, info, warn or error`);
  const image = text(texts, 'default-server-image');
  if (image === '')
    throw new Error('--default-server-image is missing: the image of Clusters that name none');
  return {
    defaultServerImage: image,
    watchNamespaces: text(texts, 'watch-namespaces')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    clusterSelector: text(texts, 'cluster-selector'),
    leaderElection: flag(texts, 'leader-election'),
    leaseName: text(texts, 'lease-name'),
    namespace: text(texts, 'namespace'),
    concurrency: whole(texts, 'concurrency', 1),
    pollSeconds: whole(texts, 'poll-seconds', 1),
    resyncSeconds: whole(texts, 'resync-seconds', 1),
    logLevel,
    host: text(texts, 'host'),
    port: whole(texts, 'port', 0),
  };
}

function text(texts: Texts, name: string): string {
  return texts.get(name) ?? '';
}

function flag(texts: Texts, name: string): boolean {
  const value = text(texts, name);
  if (value === 'true' || value === 'false') return value === 'true';
  throw new Error(`--${name} '${value}': use true or false`);
}

function whole(texts: Texts, name: string, min: number): number {
  const value = Number(text(texts, name));
  if (Number.isInteger(value) && value >= min) return value;
  throw new Error(`--${name} '${text(texts, name)}': use a whole number of at least ${min}`);
}
