import type { ClusterSpec } from '../api/cluster-spec.ts';

const pluginsKey = 'service.server.plugins';

/** A plugin that `spec.plugins` switches on, with the port that clients reach it at. */
export interface Plugin {
  readonly name: string;
  readonly port: number | undefined;
  /** Its settings by full name. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Those that the server of this version has; a rule of the definition refuses the others. */
const standardPorts = { prometheus: undefined, redis: 6379 } as const;

export function enabledPlugins({ plugins }: ClusterSpec): readonly Plugin[] {
  return (['prometheus', 'redis'] as const).flatMap((name) => {
    const slot = plugins[name];
    if (slot?.enabled !== true) return [];
    const given = Object.entries(slot.settings ?? {});
    const port = slot.port ?? standardPorts[name];
    const settings = given.map(([key, value]) => [`service.${name}.${key}`, value] as const);
    return [{ name, port, settings: Object.fromEntries(settings) }];
  });
}

/** Plugins that clients connect to by themselves, not over HTTP. */
export function pluginPorts(
  spec: ClusterSpec,
): readonly { readonly name: string; readonly port: number }[] {
  return enabledPlugins(spec).flatMap(({ name, port }) =>
    port === undefined ? [] : [{ name, port }],
  );
}

/** What the plugins are told: where they listen, whatever `spec.settings` says, and their own settings. */
export function pluginSettings(spec: ClusterSpec): Readonly<Record<string, string>> {
  const ports = pluginPorts(spec).map(({ name, port }) => [`service.${name}.port`, String(port)]);
  const given = enabledPlugins(spec).flatMap(({ settings }) => Object.entries(settings));
  return Object.fromEntries([...given, ...ports]);
}

/**
 * The setting that lists the plugins: those of `spec.settings` and those switched on in `spec.plugins`.
 * @returns undefined when `spec.plugins` switches none on
 */
export function pluginList(spec: ClusterSpec): string | undefined {
  const enabled = enabledPlugins(spec).map(({ name }) => name);
  if (enabled.length === 0) return undefined;
  const given = (spec.settings?.[pluginsKey] ?? '').split(',').map((name) => name.trim());
  return [...new Set([...given, ...enabled])].filter((name) => name !== '').join(',');
}
