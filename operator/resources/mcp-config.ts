import { isDeepStrictEqual } from 'node:util';
import type { ClusterSpec } from '../api/cluster-spec.ts';
import { contentHash } from './content-hash.ts';

/*
 * The configuration of the tool server (contract document 2). It is a file at the first start and belongs to the member then; what
 * the spec says of it is posted, and what it does not say is left alone.
 */

type Fields = Readonly<Record<string, unknown>>;

/** `config/mcp-config.json` of a first start; undefined when the spec does not manage it. */
export function mcpJson({ mcp }: ClusterSpec): string | undefined {
  return mcp === undefined ? undefined : `${JSON.stringify(mcp, undefined, 2)}\n`;
}

export function mcpHash(spec: ClusterSpec): string {
  return contentHash(mcpJson(spec) ?? '');
}

/** What has to be posted so that `present` becomes what the spec says; undefined when it is that already. */
export function mcpChange(present: unknown, wanted: Fields): Fields | undefined {
  const fields = isFields(present) ? present : {};
  const change: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(wanted)) {
    const wish = name === 'profile' && typeof value === 'string' ? value.toLowerCase() : value;
    const difference = isFields(wish) ? entriesChange(fields[name], wish) : wish;
    if (isFields(wish) ? difference !== undefined : !isDeepStrictEqual(fields[name], wish))
      change[name] = difference;
  }
  return Object.keys(change).length === 0 ? undefined : change;
}

/** Of `principalProfiles` and `databases`, which merge by entry: an entry that is to go is null. */
function entriesChange(present: unknown, wanted: Fields): Fields | undefined {
  const entries = isFields(present) ? present : {};
  const change: Record<string, unknown> = {};
  for (const name of Object.keys(entries)) if (!Object.hasOwn(wanted, name)) change[name] = null;
  for (const [name, value] of Object.entries(wanted)) {
    const wish = typeof value === 'string' ? value.toLowerCase() : value;
    if (!isDeepStrictEqual(entries[name], wish)) change[name] = wish;
  }
  return Object.keys(change).length === 0 ? undefined : change;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
