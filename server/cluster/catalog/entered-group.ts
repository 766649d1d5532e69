import { createHash } from 'node:crypto';
import type { Index } from '#raft/vocabulary.ts';
import type { CatalogDocument, FormerGroup } from './catalog-document.ts';

/*
 * A catalog belongs to the log of one group: its index counts entries there. A server whose log is lost may enter another group with
 * the catalog that it had, and would pass over entries of the new group as applied already.
 */

/** The group that this server is in, and its log. */
export interface EnteredGroup {
  readonly clusterId: string;
  /** The log goes on from these: this member was its only survivor. */
  readonly earlierClusterIds: readonly string[];
  /** Undefined: not known yet. */
  readonly log: { readonly firstIndex: Index; readonly lastIndex: Index } | undefined;
}

/** What a server tells of the group that it was in before, when another one begins. */
export interface FormerState {
  readonly group: string | undefined;
  readonly index: Index;
  /** Equal for catalogs with the same databases, users and groups. */
  readonly digest: string;
}

/**
 * `known`: it is of this group, and says so. `taken`: it is of this log and does not say so yet. `other`: it is of another log.
 * `open`: the log must be seen first.
 */
export type EntryOfGroup = 'known' | 'taken' | 'other' | 'open';

/** @param document the catalog that this server has */
export function judgeEntry(
  document: CatalogDocument,
  { clusterId, earlierClusterIds, log }: EnteredGroup,
): EntryOfGroup {
  const { group } = document;
  if (group === clusterId) return 'known';
  const position = positionOf(document);
  if (position === 0) return 'taken';
  if (group !== undefined) return earlierClusterIds.includes(group) ? 'taken' : 'other';
  // An earlier build wrote it. What it has applied stood in its log, and a log that is whole and shorter is another one.
  if (log === undefined) return 'open';
  return log.firstIndex <= 1 && log.lastIndex < position ? 'other' : 'taken';
}

/** The newest entry of its log that a catalog knows of. */
export function positionOf({ applied, checkpointed }: CatalogDocument): Index {
  return Math.max(applied, checkpointed);
}

/** Undefined: there was none that had begun. */
export function formerOf(document: CatalogDocument): FormerGroup | undefined {
  const { isInitialized, former, group, applied: index, databases } = document;
  return isInitialized ? { group, index, databases } : former;
}

/** The file in which a catalog stays that is of another group. */
export function oldCatalogName(document: CatalogDocument): string {
  const group = (document.group ?? 'unknown').replaceAll(/[^A-Za-z0-9-]/g, '_');
  return `catalog-of-${group}-at-${positionOf(document)}.json`;
}

export function formerState(
  { group, index, databases }: FormerGroup,
  security: readonly string[],
): FormerState {
  const content = JSON.stringify([databases.map(({ uuid, name }) => [uuid, name]), ...security]);
  return { group, index, digest: createHash('sha256').update(content).digest('hex') };
}

/**
 * The newest of what several servers had: in the group that most of them come from, then at the highest index. Those of builds that
 * recorded no group may be of each.
 */
export function newestFormer(all: readonly FormerState[]): FormerState | undefined {
  const rivals = all.map(({ group }) => {
    const states = all.filter((state) => state.group === undefined || state.group === group);
    return states.sort((x, y) => y.index - x.index);
  });
  const [first] = rivals.sort(
    (x, y) => y.length - x.length || (y[0]?.index ?? 0) - (x[0]?.index ?? 0),
  );
  return first?.[0];
}

/** Two catalogs hold the same, however far each of them is, or are equally far. */
export function knowAsMuch(one: FormerState, other: FormerState): boolean {
  const isOneGroup =
    one.group === other.group || one.group === undefined || other.group === undefined;
  return one.digest === other.digest || (isOneGroup && one.index === other.index);
}
