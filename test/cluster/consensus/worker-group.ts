import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsensusOptions } from '#cluster/consensus/worker-messages.ts';
import { epochOf } from '#cluster/consensus-port.ts';
import type { RaftTls } from '#cluster/transport/raft-tls.ts';
import { WorkerConsensus } from '#cluster/worker-consensus.ts';
import { defaultRaftLimits } from '#raft/options.ts';

export interface GroupMember {
  readonly consensus: WorkerConsensus;
  readonly applied: string[];
  readonly errors: string[];
}

/** Several members with real workers, real sockets on loopback and real files, in one process. */
export class WorkerGroup {
  readonly root = mkdtempSync(join(tmpdir(), 'polyad-group-'));
  readonly ports: number[] = [];
  readonly members = new Map<number, GroupMember>();

  readonly #tls: (i: number) => RaftTls | undefined;
  readonly #parentOf: (i: number) => string | undefined;

  private constructor(
    tls: (i: number) => RaftTls | undefined,
    parentOf: (i: number) => string | undefined,
  ) {
    this.#tls = tls;
    this.#parentOf = parentOf;
  }

  static async start(
    count: number,
    tls: (i: number) => RaftTls | undefined = () => undefined,
    parentOf: (i: number) => string | undefined = () => undefined,
  ): Promise<WorkerGroup> {
    const group = new WorkerGroup(tls, parentOf);
    for (let i = 0; i < count; i++) group.ports.push(await freePort());
    await Promise.all(group.ports.map((_, i) => group.startMember(i)));
    return group;
  }

  async startMember(
    i: number,
    declaredCount = this.ports.length,
    change: Partial<ConsensusOptions> = {},
  ): Promise<GroupMember> {
    const errors: string[] = [];
    const consensus = await WorkerConsensus.start(
      { ...this.options(i, declaredCount), ...change },
      { log: (level, text) => void (level === 'error' && errors.push(text)) },
    );
    const applied: string[] = [];
    consensus.deliver(0, async (entries) => {
      for (const { kind, data } of entries)
        if (kind === 'normal') applied.push(Buffer.from(data).toString());
    });
    const member = { consensus, applied, errors };
    this.members.set(i, member);
    return member;
  }

  options(i: number, declaredCount: number): ConsensusOptions {
    const declared = this.ports.slice(0, declaredCount).map((port) => ({
      id: `127.0.0.1_${port}`,
      address: `127.0.0.1:${port}`,
      name: `server-${port}`,
      priority: 0,
    }));
    const port = this.ports[i] as number;
    return {
      self: `127.0.0.1_${port}`,
      declared,
      clusterName: 'test',
      build: { version: '1', features: [] },
      canLead: true,
      listenHost: '127.0.0.1',
      listenPort: port,
      tls: this.#tls(i),
      allowlist: { refreshMs: 30_000, graceMs: 0, stickyMs: 0 },
      directory: join(this.#parentOf(i) ?? this.root, `member-${i}`),
      limits: {
        ...defaultRaftLimits,
        electionTicksMin: 40,
        electionTicksMax: 60,
        heartbeatTicks: 4,
      },
      tickMs: 10,
      segmentBytes: 1024 * 1024,
      cacheBytesMax: 1024 * 1024,
      purgeGap: 10,
      messageBytesMax: 16 * 1024 * 1024,
      flowControlWindow: 1024 * 1024,
      persists: true,
      bootstrapTimeoutMs: 60_000,
      startMode: 'auto',
      quorumRecovery: '',
      formsWithoutAbsent: false,
      joinsByItself: true,
      unreachableMs: 10_000,
      channelResetMs: 60_000,
      escalates: true,
      healthCheckMs: 300,
      restartsMax: 10,
      freePercMin: 0,
      lagEntriesMax: 1000,
    };
  }

  idOf(i: number): string {
    return `127.0.0.1_${this.ports[i]}`;
  }

  /** Waits for a leader that serves, and gives its number. */
  async leader(): Promise<number> {
    return until(() => {
      for (const [i, { consensus }] of this.members) if (consensus.status().leaderReady) return i;
      return undefined;
    });
  }

  async write(text: string): Promise<void> {
    await until(async () => {
      const leader = this.members.get(await this.leader());
      const status = await leader?.consensus.propose(
        [Buffer.from(text)],
        epochOf(leader.consensus.status().term, 0),
      );
      return status?.kind === 'accepted' ? true : undefined;
    });
  }

  async stopMember(i: number): Promise<void> {
    const member = this.members.get(i);
    this.members.delete(i);
    await member?.consensus.close(0);
  }

  async close(): Promise<void> {
    await Promise.all([...this.members.keys()].map((i) => this.stopMember(i)));
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Asks until there is an answer; the test runner's own limit ends what never has one. */
export async function until<T>(test: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await test();
    if (found !== undefined) return found;
    await sleep(10);
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}
