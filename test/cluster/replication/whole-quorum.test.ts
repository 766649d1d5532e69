import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConsensusStatus } from '#cluster/consensus-port.ts';
import { WholeQuorum } from '#cluster/replication/whole-quorum.ts';

// service.ha.quorum=all: a majority commits as ever, and nobody is told before every voter has it.

class Peers {
  readonly match = new Map([
    ['b', 7],
    ['c', 7],
  ]);
  readonly away = new Set<string>();
  readonly silent = new Set<string>();
  #tell: (status: ConsensusStatus) => void = () => {};
  #expire: () => void = () => {};

  readonly quorum = new WholeQuorum({
    port: {
      self: 'a',
      status: () => this.status(),
      onStatus: (listener) => {
        this.#tell = listener;
        return () => {
          this.#tell = () => {};
        };
      },
    },
    timeoutMs: () => 100,
    silentMsMax: () => 1000,
    timers: {
      after: (_, run) => {
        this.#expire = run;
        return () => {};
      },
    },
  });

  status(): ConsensusStatus {
    const progress = [...this.match].map(([id, match]) => ({
      id,
      match,
      isReachable: !this.away.has(id),
      lastContactMs: this.silent.has(id) ? 1500 : 500,
    }));
    const voters = ['a', ...this.match.keys()].map((id) => ({ id }));
    return { configuration: { voters }, progress } as unknown as ConsensusStatus;
  }

  moves(id: string, match: number): void {
    this.match.set(id, match);
    this.#tell(this.status());
  }

  expires(): void {
    this.#expire();
  }
}

test('while a voter is away nothing is appended', () => {
  const peers = new Peers();
  peers.quorum.requireAll();
  peers.silent.add('b');
  assert.throws(() => peers.quorum.requireAll(), { message: /'all' and b/ });
  peers.silent.clear();
  peers.away.add('c');
  assert.throws(() => peers.quorum.requireAll(), {
    code: 'QuorumNotReached',
    message: /'all' and c/,
  });
});

test('the answer waits for the last voter, and says when it is late that a majority has it', async () => {
  const peers = new Peers();
  await peers.quorum.reached(7);
  let isTold = false;
  const told = peers.quorum.reached(8).then(() => {
    isTold = true;
  });
  peers.moves('b', 9);
  await Promise.resolve();
  assert.equal(isTold, false);
  peers.moves('c', 8);
  await told;
  const late = peers.quorum.reached(9);
  peers.expires();
  await assert.rejects(late, {
    code: 'CommittedRemotely',
    message: /by a majority, not by all: c/,
  });
});

test('a voter that is taken out of the cluster is waited for no more', async () => {
  const peers = new Peers();
  const waiting = peers.quorum.reached(8);
  peers.match.delete('c');
  peers.moves('b', 8);
  await waiting;
});
