import type { Build } from '../api/build.ts';

/*
 * Which build may go on with the data of another (operator.md 8.12, ha.md 16). Formats that both tell decide; where one does not
 * tell, the numbers of their versions are compared, and what is not known is no reason to go back.
 */

/** Why data of the present build are not for the next one; undefined: nothing speaks against it. */
export function upgradeProblem(present: Build, next: Build): string | undefined {
  const unread = unreadFormats(present, next);
  if (unread !== undefined) return unread;
  const lacking = present.features.filter((feature) => !next.features.includes(feature));
  if (lacking.length > 0)
    return `${nameOf(next)} lacks ${lacking.join(', ')}, which ${nameOf(present)} may have switched on`;
  const order = compareVersions(next.version, present.version);
  if (order === undefined || order === 0) return undefined;
  if (order < 0) return downgradeProblem(present, next);
  if (readsAllOf(present, next)) return undefined;
  return skipsVersions(present, next)
    ? `${nameOf(next)} skips versions after ${nameOf(present)}, and does not say that it reads all that ${nameOf(present)} reads`
    : undefined;
}

/** Why the present build might not read what the next one has written; undefined: it does, as long as no feature is on that it lacks. */
export function returnProblem(present: Build, next: Build): string | undefined {
  const unread = unreadFormats(next, present);
  if (unread !== undefined) return unread;
  if (next.downgradeSafeTo !== undefined) {
    const order = compareVersions(present.version, next.downgradeSafeTo);
    if (order !== undefined)
      return order < 0
        ? `what ${nameOf(next)} writes is read from version ${next.downgradeSafeTo} on, not by ${nameOf(present)}`
        : undefined;
  }
  if (next.formats.size > 0 && present.formats.size > 0) return undefined;
  const [from, to] = [partsOf(present.version), partsOf(next.version)];
  if (from === undefined || to === undefined)
    return 'which formats it writes, and whether the image before reads them, is not known';
  return from.major === to.major && from.minor === to.minor
    ? undefined
    : `${nameOf(next)} does not say what it writes, and ${nameOf(present)} is another minor version`;
}

/** What the next build can switch on and the present one cannot read. */
export function featuresOnlyOf(next: Build, present: Build): readonly string[] {
  return next.features.filter((feature) => !present.features.includes(feature));
}

function downgradeProblem(present: Build, next: Build): string | undefined {
  const order = compareVersions(next.version, present.downgradeSafeTo);
  if (order !== undefined)
    return order < 0
      ? `what ${nameOf(present)} writes is read from version ${present.downgradeSafeTo ?? ''} on, not by ${nameOf(next)}`
      : undefined;
  return returnProblem(next, present);
}

/** Of the formats that both tell. */
function unreadFormats(writer: Build, reader: Build): string | undefined {
  for (const [kind, { writes }] of writer.formats) {
    const format = reader.formats.get(kind);
    if (format === undefined || (writes >= format.readsFrom && writes <= format.readsTo)) continue;
    return `${nameOf(writer)} writes ${kind} format ${writes}, ${nameOf(reader)} reads ${format.readsFrom} to ${format.readsTo}`;
  }
  return undefined;
}

/** What lies on a volume may be older than what is written now. */
function readsAllOf(present: Build, next: Build): boolean {
  if (present.formats.size === 0) return false;
  return [...present.formats].every(([kind, { readsFrom }]) => {
    const format = next.formats.get(kind);
    return format !== undefined && format.readsFrom <= readsFrom;
  });
}

function skipsVersions(present: Build, next: Build): boolean {
  const [from, to] = [partsOf(present.version), partsOf(next.version)];
  if (from === undefined || to === undefined) return false;
  return from.major !== to.major || to.minor > from.minor + 1;
}

/** @returns undefined where one of them is no version number */
function compareVersions(one: string | undefined, other: string | undefined): number | undefined {
  const [a, b] = [partsOf(one), partsOf(other)];
  if (a === undefined || b === undefined) return undefined;
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

function partsOf(version: string | undefined) {
  const [, major, minor, patch = '0'] =
    /^v?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])/.exec(version ?? '') ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

function nameOf({ version }: Build): string {
  return version === undefined ? 'a version without a number' : `version ${version}`;
}
