import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { PeerId } from '#raft/vocabulary.ts';
import type { ClusterView, VerifiedDatabase, VerifiedFile } from '../cluster-view.ts';
import type { KnownPeer, PeerAddresses } from '../forwarding/peer-addresses.ts';
import { PeerFailure, type PeerHttp } from '../forwarding/peer-http.ts';
import type { ClusterToken } from '../token/cluster-token.ts';
import type { PeerResync } from './peer-resync.ts';

type Json = Readonly<Record<string, unknown>>;

const pollEveryMs = 200;
const acceptMs = 5000;
const totalMs = 60_000;
const msPerGiB = 10_000;

/** What a server tells another one of a database at a mark. */
interface OwnPart {
  readonly localServer: string;
  readonly index: number;
  readonly files: readonly VerifiedFile[];
  readonly incompleteSealedStores?: number;
}

/**
 * Compares a database between the members (contract 3, Verify outcomes; ha.md 9.6, 11.3): each digests what it holds at one index
 * that is marked in the log. It never says ALL_CONSISTENT when somebody could not be compared.
 */
export class ClusterVerify {
  readonly #options: {
    readonly view: ClusterView;
    readonly addresses: PeerAddresses;
    readonly http: PeerHttp;
    readonly token: ClusterToken;
    readonly resync: PeerResync;
    readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  };

  constructor(options: {
    view: ClusterView;
    addresses: PeerAddresses;
    http: PeerHttp;
    token: ClusterToken;
    resync: PeerResync;
    runtime: Pick<Runtime, 'clock' | 'timers'>;
  }) {
    this.#options = options;
  }

  /** The comparison. @throws DatabaseError `DatabaseNotFound`, `QuorumNotReached`, ... */
  async compare(database: string): Promise<Json> {
    const { view, addresses } = this.#options;
    const { self } = view.consensus;
    const { verifyId, index } = await this.#mark(database);
    const own = await this.#own(verifyId);
    const digests = digestsOf(own.files);
    const others = addresses.known().filter(({ id }) => id !== self);
    const peers = await Promise.all(
      others.map((peer) => this.#peer(peer, { verifyId, database, own })),
    );
    const statuses = peers.map((peer) => peer['status']);
    const isUncompared = peers.some(
      (peer) =>
        Number(peer['uncomparedSealedStores'] ?? 0) + Number(peer['incompleteSealedStores'] ?? 0) >
        0,
    );
    let overallStatus = 'ALL_CONSISTENT';
    if (statuses.includes('INCONSISTENT')) overallStatus = 'INCONSISTENCY_DETECTED';
    else if (statuses.includes('ERROR') || isUncompared) overallStatus = 'VERIFICATION_INCOMPLETE';
    return {
      database,
      verifyId,
      index,
      localServer: view.serverName,
      localPeerId: self,
      files: own.files,
      localChecksums: digests,
      peers,
      overallStatus,
    };
  }

  /** Its copy here is being fetched: there is nothing yet to compare the others with. */
  isInstalling(database: string): boolean {
    const found = this.#options.view.databases().find(({ name }) => name === database);
    return found?.status === 'INSTALLING';
  }

  /** Compares, and has those that differ fetch the database anew (ha.md 5.11). The leader does it. */
  async align(database: string, user: string): Promise<Json> {
    const { peers, overallStatus, index } = await this.compare(database);
    const aligned = await Promise.all(
      (peers as readonly Json[]).map(async ({ peerId, status, error }) => {
        if (status !== 'INCONSISTENT') return { peerId, status, ...(error ? { error } : {}) };
        const failed = await this.#options.resync.begin(String(peerId), database, user);
        return failed === undefined
          ? { peerId, status: 'RESYNC_STARTED' }
          : { peerId, status: 'ERROR', error: failed };
      }),
    );
    return { operation: 'align database', database, index, overallStatus, servers: aligned };
  }

  /** The leader puts the mark into the log. @throws DatabaseError `QuorumNotReached`, `DatabaseNotFound` */
  async mark(database: string): Promise<{ readonly verifyId: string; readonly index: number }> {
    return this.#verifier().mark(database);
  }

  async #mark(database: string): Promise<{ readonly verifyId: string; readonly index: number }> {
    const { view, addresses, http, token } = this.#options;
    const { role, leader } = view.consensus.status();
    if (role === 'leader') return this.mark(database);
    if (leader === undefined) throw new DatabaseError('QuorumNotReached', 'no leader is known');
    const dial = addresses.dial(leader);
    if (dial.kind === 'refused')
      throw new DatabaseError('QuorumNotReached', `the leader cannot be asked: ${dial.reason}`);
    const asked = http.askWhole(dial, {
      method: 'POST',
      path: `/api/v1/cluster/verify/${encodeURIComponent(database)}?mark=true`,
      headers: { 'content-type': 'application/json', 'x-service-cluster-token': token.value },
      body: Buffer.from('{}'),
    });
    const { status, body } = await asked.catch((error: unknown) => {
      throw new DatabaseError('QuorumNotReached', `the leader was not reached: ${String(error)}`);
    });
    if (status === 200) return JSON.parse(body.toString()) as { verifyId: string; index: number };
    const code = status === 404 ? 'DatabaseNotFound' : 'QuorumNotReached';
    throw new DatabaseError(code, `the leader answers ${status}: ${body.toString().slice(0, 300)}`);
  }

  /** What this server holds at a mark, for another one; waits until it is digested. */
  async ownPart(verifyId: string): Promise<Json> {
    const { index, files } = await this.#own(verifyId);
    return {
      localServer: this.#options.view.serverName,
      index,
      files,
      localChecksums: digestsOf(files),
    };
  }

  #verifier() {
    const { verifier } = this.#options.view;
    if (verifier === undefined)
      throw new DatabaseError('NotSupported', 'not supported yet: verify');
    return verifier;
  }

  async #own(verifyId: string): Promise<VerifiedDatabase> {
    const { clock, timers } = this.#options.runtime;
    const untilMs = clock.monotonicMs() + totalMs;
    for (;;) {
      const found = this.#verifier().result(verifyId);
      if (found !== undefined) return found;
      if (clock.monotonicMs() > untilMs)
        throw new DatabaseError('Timeout', 'this server has not digested the database in time');
      await timers.sleep(pollEveryMs);
    }
  }

  async #peer(
    peer: KnownPeer,
    asked: { readonly verifyId: string; readonly database: string; readonly own: VerifiedDatabase },
  ): Promise<Json> {
    const { addresses } = this.#options;
    const httpAddress = addresses.addresses('http').get(peer.id);
    const about = { peerId: peer.id, ...(httpAddress && { httpAddress }) };
    const failed = (error: string): Json => ({ ...about, status: 'ERROR', error });
    if (peer.member === undefined)
      return failed('declared in service.ha.serverList but no member of the cluster');
    try {
      const part = await this.#ask(peer.id, asked);
      return { ...about, ...compared(asked.own.files, part) };
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error));
    }
  }

  async #ask(
    peer: PeerId,
    { verifyId, database, own }: { verifyId: string; database: string; own: VerifiedDatabase },
  ): Promise<OwnPart> {
    const { addresses, http, token } = this.#options;
    const dial = addresses.dial(peer);
    if (dial.kind === 'refused') throw new PeerFailure(dial.reason, true);
    // Who does not answer at all is not waited for as long as who digests.
    await http.askWhole(dial, {
      method: 'GET',
      path: '/api/v1/health',
      headers: {},
      body: undefined,
      firstByteMs: acceptMs,
    });
    const gibibytes = own.files.reduce((sum, { size }) => sum + size, 0) / 2 ** 30;
    const { status, body } = await http.askWhole(
      dial,
      {
        method: 'POST',
        path: `/api/v1/cluster/verify/${encodeURIComponent(database)}?verifyId=${encodeURIComponent(verifyId)}`,
        headers: {
          'content-type': 'application/json',
          'x-service-cluster-token': token.value,
          'x-service-forwarded-to-leader': '1',
        },
        body: Buffer.from('{}'),
        firstByteMs: Math.max(totalMs, gibibytes * msPerGiB),
      },
      64 * 1024 * 1024,
    );
    const answer = JSON.parse(body.toString()) as OwnPart & {
      readonly error?: string;
      readonly detail?: string;
    };
    if (status !== 200)
      throw new PeerFailure(answer.detail ?? answer.error ?? `status ${status}`, false);
    return answer;
  }
}

function digestsOf(files: readonly VerifiedFile[]): Readonly<Record<string, string>> {
  return Object.fromEntries(files.map(({ name, checksum }) => [name, checksum]));
}

function compared(own: readonly VerifiedFile[], part: OwnPart): Json {
  const theirs = new Map(part.files.map((file) => [file.name, file]));
  const mismatches: Json[] = [];
  for (const { name, type, checksum } of own) {
    const remoteChecksum = theirs.get(name)?.checksum ?? 'MISSING';
    theirs.delete(name);
    if (remoteChecksum !== checksum)
      mismatches.push({ file: name, type, localChecksum: checksum, remoteChecksum });
  }
  for (const { name, type, checksum } of theirs.values())
    mismatches.push({ file: name, type, localChecksum: 'MISSING', remoteChecksum: checksum });
  const ownMismatches = mismatches.filter(
    ({ localChecksum }) => localChecksum !== 'MISSING',
  ).length;
  const incomplete = part.incompleteSealedStores ?? 0;
  return {
    status: mismatches.length === 0 ? 'CONSISTENT' : 'INCONSISTENT',
    matchingFiles: own.length - ownMismatches,
    mismatchedFiles: mismatches.length,
    mismatches,
    ...(incomplete > 0 && { incompleteSealedStores: incomplete }),
  };
}
