/*
 * What a member says of its Raft group (`GET /api/v1/cluster`). Fields that only a leader knows are undefined elsewhere, and
 * undefined means unknown, which is neither good nor bad.
 */

export interface RaftAnswer {
  readonly localPeerId: string;
  readonly isLeader: boolean;
  readonly leaderReady: boolean;
  readonly leaderId: string | undefined;
  readonly term: number;
  readonly commitIndex: number | undefined;
  /** Where its log ends: place and term of the last entry. */
  readonly lastIndex: number | undefined;
  readonly lastTerm: number | undefined;
  /** Of the disk of the member that answers. */
  readonly storageId: string | undefined;
  readonly configurationIndex: number | undefined;
  /** A change of the membership is under way. */
  readonly isJoint: boolean;
  readonly isAdmitted: boolean | undefined;
  readonly logState: string | undefined;
  /** Databases whose content on the member that answers differs from that of the group. */
  readonly diverged: readonly string[];
  /** What the member that answers fetches; the others do not know of it. */
  readonly resync: Resync | undefined;
  readonly peers: readonly RaftPeer[];
}

export interface RaftPeer {
  readonly id: string;
  readonly inConfiguration: boolean;
  readonly isVoter: boolean;
  readonly canLead: boolean;
  readonly priority: number;
  readonly version: string | undefined;
  /** Leader only: entries that it lacks; -1 is never heard of. */
  readonly lag: number | undefined;
  /** Leader only: the last entry that it is known to have. */
  readonly match: number | undefined;
  readonly isReachable: boolean | undefined;
  readonly status: string | undefined;
}

/** A database that a member fetches from the leader. */
export interface Resync {
  readonly database: string;
  /** In steps of ten, so that it is news now and then only; undefined: it is past that, or nobody knows how much it is. */
  readonly percent: number | undefined;
}

/** The name of a member in its group: its host, exactly as in the list of servers, and its Raft port. */
export function peerIdOf(host: string, raftPort: number): string {
  return `${host}_${raftPort}`;
}

/** @throws SyntaxError for a text that is no JSON */
export function parseRaftAnswer(body: string): RaftAnswer {
  const given = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const peers = (given['peers'] ?? []) as readonly Readonly<Record<string, unknown>>[];
  return {
    localPeerId: String(given['localPeerId'] ?? ''),
    isLeader: given['isLeader'] === true,
    leaderReady: given['leaderReady'] === true,
    leaderId: textOf(given['leaderId']),
    term: numberOf(given['currentTerm']) ?? 0,
    commitIndex: numberOf(given['commitIndex']),
    lastIndex: numberOf(given['lastLogIndex']),
    lastTerm: numberOf(given['lastLogTerm']),
    storageId: textOf(given['storageId']),
    configurationIndex: numberOf(given['configurationIndex']),
    isJoint: given['joint'] === true,
    isAdmitted: typeof given['admitted'] === 'boolean' ? given['admitted'] : undefined,
    logState: textOf(given['logState']),
    diverged: namesOfDiverged(given['databases']),
    resync: peers.map(({ resync }) => resyncOf(resync)).find(Boolean),
    peers: peers.map((peer) => ({
      id: String(peer['id'] ?? ''),
      inConfiguration: peer['inConfiguration'] === true,
      isVoter: peer['voter'] === true,
      canLead: peer['canLead'] !== false,
      priority: numberOf(peer['priority']) ?? 0,
      version: textOf(peer['version']),
      lag: numberOf(peer['replicationLag']),
      match: numberOf(peer['matchIndex']),
      isReachable: typeof peer['reachable'] === 'boolean' ? peer['reachable'] : undefined,
      status: textOf(peer['replicaStatus']),
    })),
  };
}

function resyncOf(given: unknown): Resync | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { database, phase, bytes, totalBytes } = given as Readonly<Record<string, unknown>>;
  const [done = 0, all = 0] = [numberOf(bytes), numberOf(totalBytes)];
  const isLoading = phase === 'DOWNLOAD' && all > 0;
  const percent = isLoading ? Math.min(90, Math.floor((done * 10) / all) * 10) : undefined;
  return { database: textOf(database) ?? '', percent };
}

function namesOfDiverged(databases: unknown): readonly string[] {
  if (!Array.isArray(databases)) return [];
  return databases.flatMap((each: { readonly name?: unknown; readonly status?: unknown } | null) =>
    each?.status === 'DIVERGED' ? [String(each.name ?? '')] : [],
  );
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
