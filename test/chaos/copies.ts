import type { LocalCluster } from '#cluster/dev/local-cluster.ts';

interface Verified {
  readonly result?: {
    readonly overallStatus: string;
    readonly peers: readonly { readonly peerId: string; readonly status: string }[];
  };
}

/**
 * Whether all servers hold the same. Servers that were removed stay declared where the others have them in their lists, and are told
 * as errors (ha.md 9.6): `ALL_CONSISTENT` is asked for only where there are none. @returns what differs
 */
export async function unlikeCopies(
  cluster: LocalCluster,
  database: string,
): Promise<string | undefined> {
  const leader = await cluster.leader();
  const { body } = await cluster.ask(leader, 'POST', `cluster/verify/${database}`);
  const { result } = body as Verified;
  if (result === undefined) return JSON.stringify(body);
  const isThere = (id: string) => cluster.servers.some((server) => server.id === id);
  const compared = result.peers.filter(({ peerId }) => isThere(peerId));
  const isEqual =
    compared.length === cluster.servers.length - 1 &&
    compared.every(({ status }) => status === 'CONSISTENT');
  const isWhole = compared.length === result.peers.length;
  const isTold = !isWhole || result.overallStatus === 'ALL_CONSISTENT';
  return isEqual && isTold ? undefined : JSON.stringify({ ...result, files: undefined });
}
