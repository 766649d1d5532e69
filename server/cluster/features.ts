import type { PeerId } from '#raft/vocabulary.ts';

/**
 * What this build can write into the log, or read out of it, and an earlier one cannot (ha.md 16). A feature is used once an entry
 * switches it on, which the leader writes when every member understands it; from then on no build without it is a member. A name is
 * never used again, and a feature stays listed as long as builds are there that lack it. The first build that runs in clusters
 * has none.
 */
export const features: readonly string[] = [];

/** As it is told to other servers. */
export function capabilityOf(feature: string): string {
  return `feature:${feature}`;
}

/** What this build can do with others, as it tells them (ha.md 10.3, 11.4). */
export const clusterCapabilities: readonly string[] = [
  'bootstrap',
  ...features.map(capabilityOf),
  'forwarding',
  'security-documents',
  'verify',
];

/** What a build says of itself to those who judge whether it may be a member. */
export interface Build {
  readonly version: string;
  readonly features: readonly string[];
}

/** Why a server of that build cannot become a member of a cluster that uses features (ha.md 16 rule 2). @param build undefined: one that says nothing */
export function lackOfBuild(
  peer: PeerId,
  build: Build | undefined,
  active: readonly string[],
): string | undefined {
  const lacking = active.filter((feature) => build?.features.includes(feature) !== true);
  if (lacking.length === 0) return undefined;
  const known = build === undefined ? 'an older version' : `version ${build.version}`;
  return `Peer ${peer} runs ${known}, which lacks '${lacking.join("', '")}'; the cluster uses it: upgrade the peer first`;
}

/** What this build reads and writes (ha.md 16 rule 5). Segments of one database (1) and of a cluster (2) are both logs. */
export const formats = {
  storage: { reads: [1, 1], writes: 1 },
  log: { reads: [1, 2], writes: 2 },
  catalog: { reads: [1, 1], writes: 1 },
} as const;

/**
 * The oldest version that reads what this build writes, as long as no feature is switched on that it lacks: of the build that brought the
 * formats above. Whoever raises what one of them writes puts the version of that build here.
 */
export const downgradeSafeTo = '26.10.1';

/** Those that this build does not have. */
export function unknownFeatures(names: readonly string[]): readonly string[] {
  return names.filter((name) => !features.includes(name));
}
