/** The ordinal of a claim that the StatefulSet of a Cluster made; undefined for one of somebody else. */
export function claimOrdinal(cluster: string, claim: string): number | undefined {
  for (const template of ['data', 'backups', 'raft']) {
    const start = `${template}-${cluster}-`;
    const rest = claim.startsWith(start) ? claim.slice(start.length) : '';
    if (/^(0|[1-9]\d?)$/.test(rest)) return Number(rest);
  }
  return undefined;
}
