import type { ClusterSpec } from '../api/cluster-spec.ts';

const pluginsKey = 'service.server.plugins';

/**
 * The setting that lists the plugins: those of `spec.settings` and those switched on in `spec.plugins`.
 * @returns undefined when `spec.plugins` switches none on
 */
export function pluginList(spec: ClusterSpec): string | undefined {
  if (spec.plugins.prometheus?.enabled !== true) return undefined;
  const given = (spec.settings?.[pluginsKey] ?? '').split(',').map((name) => name.trim());
  return [...new Set([...given, 'prometheus'])].filter((name) => name !== '').join(',');
}
