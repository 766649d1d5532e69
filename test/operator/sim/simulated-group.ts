/*
 * The Raft group of a Cluster as its members show it: voters, learners that catch up, one leader per term, and disks whose loss
 * makes a member another one. One question to any member is one moment of the group.
 */

interface Answer {
  readonly status: number;
  readonly body: string;
}

interface Peer {
  isVoter: boolean;
  /** The disk that it was admitted with; empty until its first contact. */
  storage: string;
  lag: number;
}

const learnerLag = 300;
const lagPerMoment = 150;
/** As far as what is told of the others goes. */
const logEnd = 100_000;

export class SimulatedGroup {
  readonly #peers = new Map<string, Peer>();
  /** Peers whose process runs, with the disk they run on. */
  readonly #running = new Map<string, string>();
  leader: string | undefined;
  term = 0;
  index = 0;
  /** How often a group was formed: more than once is the loss of everything. */
  formed = 0;
  /** Sets of voters in the order in which they came. */
  readonly history: number[] = [];
  transfers = 0;
  /** By members that were about to end, to another one each time. */
  handOvers = 0;
  /** What peers are fetching from the leader just now. */
  readonly resyncs = new Map<
    string,
    { database: string; phase: string; bytes: number; totalBytes: number }
  >();
  /** By peer: what its leader says of it, whatever is the case. */
  readonly told = new Map<
    string,
    { readonly lag: number; readonly status: string; readonly match?: number }
  >();
  readonly priorities = new Map<string, number>();
  /** By peer: databases whose copy there differs, and what its log says of its disk. */
  readonly diverged = new Map<string, readonly string[]>();
  readonly logStates = new Map<string, string>();
  /** Where the log on each disk ends. */
  readonly #logs = new Map<string, { readonly term: number; readonly index: number }>();
  /** Words by which a member went on alone, in order. */
  readonly recoveries: string[] = [];

  get voters(): readonly string[] {
    return [...this.#peers].filter(([, { isVoter }]) => isVoter).map(([id]) => id);
  }

  get learners(): readonly string[] {
    return [...this.#peers].filter(([, { isVoter }]) => !isVoter).map(([id]) => id);
  }

  start(id: string, storage: string, mayForm: boolean): void {
    this.#running.set(id, storage);
    if (mayForm) {
      this.formed++;
      this.#peers.clear();
      this.#peers.set(id, { isVoter: true, storage, lag: 0 });
      this.#changed();
    }
    this.#elect();
  }

  /** It is the whole group from now on; each word counts once. */
  surviveAlone(id: string, storage: string, word: string): void {
    if (this.recoveries.includes(word)) return;
    this.recoveries.push(word);
    this.#peers.clear();
    this.#peers.set(id, { isVoter: true, storage, lag: 0 });
    this.#changed();
  }

  /** The end of the log on a disk, as if it had got no more since. */
  setLog(storage: string, end: { readonly term: number; readonly index: number }): void {
    this.#logs.set(storage, end);
  }

  /** Who is there has all that was written. */
  #follow(): void {
    if (this.leader === undefined) return;
    for (const [id, { storage }] of this.#peers)
      if (this.#isAdmitted(id)) this.#logs.set(storage, { term: this.term, index: this.index });
  }

  /** A voter that joined by itself. */
  takeIn(id: string, storage: string): void {
    if (this.#peers.has(id)) return;
    this.#peers.set(id, { isVoter: true, storage, lag: 0 });
    this.#changed();
  }

  stop(id: string): void {
    this.#running.delete(id);
    this.#elect();
  }

  /** Whether it serves: part of the group on the disk it was admitted with, and somebody leads. */
  isReady(id: string): boolean {
    this.#elect();
    return this.leader !== undefined && this.#isAdmitted(id);
  }

  #isAdmitted(id: string): boolean {
    const peer = this.#peers.get(id);
    if (peer === undefined || !this.#running.has(id)) return false;
    if (peer.storage === '' && this.leader !== undefined)
      peer.storage = this.#running.get(id) ?? '';
    return peer.storage === this.#running.get(id);
  }

  #there(): readonly string[] {
    return this.voters.filter((id) => this.#isAdmitted(id));
  }

  #elect(): void {
    const there = this.#there();
    if (there.length <= this.voters.length / 2) {
      this.leader = undefined;
      return;
    }
    if (this.leader !== undefined && there.includes(this.leader)) return;
    this.leader = there[0];
    this.term++;
  }

  #changed(): void {
    this.index++;
    this.history.push(this.voters.length);
    this.#elect();
  }

  view(id: string): Answer {
    this.#elect();
    this.#follow();
    if (this.#peers.size === 0) return refused(503, 'Raft HA not started yet');
    const isLeader = id === this.leader;
    if (isLeader)
      for (const peer of this.#peers.values()) peer.lag = Math.max(0, peer.lag - lagPerMoment);
    const peers = [...this.#peers].map(([peerId, { isVoter, lag }]) => ({
      id: peerId,
      inConfiguration: true,
      voter: isVoter,
      canLead: true,
      priority: this.priorities.get(peerId) ?? 0,
      ...(isLeader && peerId !== id ? this.#replication(peerId, lag) : undefined),
      // Each knows of itself alone.
      ...(peerId === id && this.resyncs.has(id) ? { resync: this.resyncs.get(id) } : undefined),
    }));
    return ok({
      localPeerId: id,
      isLeader,
      leaderReady: isLeader,
      leaderId: this.#isAdmitted(id) ? (this.leader ?? null) : null,
      currentTerm: this.term,
      commitIndex: this.index,
      storageId: this.#running.get(id),
      lastLogIndex: this.#logs.get(this.#running.get(id) ?? '')?.index ?? 0,
      lastLogTerm: this.#logs.get(this.#running.get(id) ?? '')?.term ?? 0,
      configurationIndex: this.index,
      joint: false,
      admitted: this.#isAdmitted(id),
      logState: this.logStates.get(id) ?? 'OK',
      databases: (this.diverged.get(id) ?? []).map((name) => ({ name, status: 'DIVERGED' })),
      peers,
    });
  }

  #replication(id: string, lag: number) {
    const isReachable = this.#isAdmitted(id);
    const status = isReachable ? (lag === 0 ? 'HEALTHY' : 'CATCHING_UP') : 'STALLED';
    const told = this.told.get(id) ?? { lag, status };
    const matchIndex = ('match' in told ? told.match : undefined) ?? logEnd - told.lag;
    const replicationLag = told.lag;
    return { replicationLag, matchIndex, reachable: isReachable, replicaStatus: told.status };
  }

  manage(self: string, method: string, url: URL, body: Record<string, unknown>): Answer {
    this.#elect();
    const path = url.pathname.replace('/api/v1/cluster', '');
    if (this.leader === undefined) return refused(503, 'no leader');
    const query = url.searchParams.get('expectedConfigurationIndex') ?? undefined;
    const wanted = body['expectedConfigurationIndex'] ?? query;
    if (wanted !== undefined && Number(wanted) !== this.index)
      return refused(409, 'another configuration');
    if (path === '/peer') return this.#add(String(body['peerId']));
    const promoted = /^\/peer\/([^/]+)\/promote$/.exec(path)?.[1];
    if (promoted !== undefined)
      return this.#promote([decodeURIComponent(promoted), ...((body['ids'] ?? []) as string[])]);
    const removed = /^\/peer\/([^/]+)$/.exec(path)?.[1];
    const isForced = url.searchParams.get('force') === 'true';
    if (method === 'DELETE' && removed !== undefined)
      return this.#remove(decodeURIComponent(removed), isForced);
    if (path === '/leave') return this.#remove(self, isForced);
    if (path === '/leader') return this.#transfer(self, String(body['peerId']));
    return refused(404, path);
  }

  #add(id: string): Answer {
    if (this.#peers.has(id)) return ok({ result: 'added' });
    this.#peers.set(id, { isVoter: false, storage: '', lag: learnerLag });
    this.#changed();
    return ok({ result: 'added' });
  }

  #promote(ids: readonly string[]): Answer {
    for (const id of ids) if (this.#peers.get(id)?.lag !== 0) return refused(409, `${id} lags`);
    for (const id of ids) {
      const peer = this.#peers.get(id);
      if (peer !== undefined) peer.isVoter = true;
    }
    this.#changed();
    return ok({ result: 'promoted' });
  }

  /** The guard of the server: what is left must be able to commit; the last two only part by force. */
  #remove(id: string, isForced: boolean): Answer {
    const peer = this.#peers.get(id);
    if (peer === undefined) return ok({ result: 'removed' });
    if (peer.isVoter) {
      const rest = this.voters.filter((voter) => voter !== id);
      const there = rest.filter((voter) => this.#isAdmitted(voter)).length;
      if (there <= rest.length / 2) return refused(409, 'no majority would be left');
      if (rest.length === 1 && !isForced) return refused(409, 'one voter would be left');
      if (id === this.leader) return refused(409, 'it leads');
    }
    this.#peers.delete(id);
    this.#changed();
    return ok({ result: 'removed' });
  }

  /** What a member does before it ends: another one that runs leads, if there is one. */
  handOver(self: string): void {
    const next = this.#there().find((id) => id !== self);
    if (self !== this.leader || next === undefined) return;
    this.leader = next;
    this.term++;
    this.handOvers++;
  }

  #transfer(self: string, id: string): Answer {
    if (self !== this.leader) return refused(409, 'not the leader');
    if (!this.#there().includes(id)) return refused(409, 'not eligible');
    this.leader = id;
    this.term++;
    this.transfers++;
    return ok({ result: 'transferred' });
  }
}

function ok(body: object): Answer {
  return { status: 200, body: JSON.stringify(body) };
}

function refused(status: number, error: string): Answer {
  return { status, body: JSON.stringify({ error }) };
}
