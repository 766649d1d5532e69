import type { ClusterObject } from '../api/cluster.ts';
import { parseSpec } from '../api/cluster.ts';
import { changeEffect } from '../api/descriptions/changes.ts';
import { hotSettings } from '../api/setting-classes.ts';
import { restartHash } from '../resources/restart-inputs.ts';

/** What a manifest would change, as the API server would store it: what restarts members, what does not. */
export function describeChange(before: ClusterObject, after: ClusterObject): readonly string[] {
  const [old, next] = [parseSpec(before), parseSpec(after)];
  if (next.spec === undefined) return [`refused: ${next.problem}`];
  const paths = old.spec === undefined ? [] : differences(old.spec, next.spec, 'spec');
  const restarting = paths.filter((path) => effectOf(path) === 'restart');
  const others = paths.filter((path) => effectOf(path) !== 'restart');
  const isRestart = hashOf(before) !== hashOf(after);
  const lines: string[] = [];
  if (isRestart)
    lines.push(`restarts the members: ${list(restarting) || 'an annotation asks for it'}`);
  else if (restarting.length > 0)
    lines.push(`no restart, it comes to the same: ${list(restarting)}`);
  if (others.length > 0) lines.push(`without a restart: ${list(others)}`);
  if (isRestart && next.spec.update.paused) lines.push('held until spec.update.paused is false');
  if (isRestart && next.spec.update.strategy === 'OnDelete')
    lines.push('held until the pods are deleted: spec.update.strategy is OnDelete');
  if (isRestart && (next.spec.update.maintenanceWindows ?? []).length > 0)
    lines.push('held until a window of spec.update.maintenanceWindows opens');
  return lines.length === 0 ? ['nothing changes'] : lines;
}

function list(paths: readonly string[]): string {
  return paths.join(', ');
}

function hashOf(cluster: ClusterObject): string | undefined {
  const { spec } = parseSpec(cluster);
  const image = spec?.image ?? cluster.status?.lastGoodImage ?? '';
  return spec && restartHash(spec, image, cluster.metadata.annotations ?? {});
}

function effectOf(path: string): string | undefined {
  const setting = /^spec\.settings\.(.*)$/.exec(path)?.[1];
  if (setting !== undefined) return hotSettings.has(setting) ? 'live' : 'restart';
  return changeEffect(path);
}

/** Paths of the smallest parts that differ; lists and settings count as a whole. */
function differences(before: unknown, after: unknown, path: string): readonly string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isMap(before) || !isMap(after)) return [path];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    // Settings and the like may appear as a whole: each of their entries counts.
    differences(
      before[name] ?? emptyLike(after[name]),
      after[name] ?? emptyLike(before[name]),
      `${path}.${name}`,
    ),
  );
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function emptyLike(value: unknown): unknown {
  return isMap(value) ? {} : undefined;
}
