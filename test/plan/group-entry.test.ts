import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntryOfGroup } from '#cluster/catalog/entered-group.ts';
import type { ConsensusStatus } from '#cluster/consensus-port.ts';
import { GroupEntry } from '#plan/group-entry.ts';

// When a log is applied: not before the catalog is that of the group.

interface Told {
  readonly clusterId: string | undefined;
  readonly earlierClusterIds?: readonly string[];
  readonly raftState?: string;
  readonly lastIndex?: number;
}

class Server {
  readonly steps: string[] = [];
  readonly entries = new Map<string, EntryOfGroup>();
  readonly retries: (() => void)[] = [];
  broken = 0;
  #status: ConsensusStatus;
  #listener: (status: ConsensusStatus) => void = () => {};
  readonly entry: GroupEntry;

  constructor(first: Told) {
    this.#status = statusOf(first);
    this.entry = new GroupEntry({
      consensus: {
        status: () => this.#status,
        onStatus: (listener) => {
          this.#listener = listener;
          return () => {};
        },
      },
      catalog: {
        members: () => [{ uuid: 'u-1', name: 'school', offset: 0 }],
        enter: async ({ clusterId, log }) => {
          if (this.broken-- > 0) throw new Error('the disk is full');
          const entry = this.entries.get(clusterId) ?? 'known';
          const step = entry === 'open' && log !== undefined ? 'taken' : entry;
          this.steps.push(`${step} ${clusterId}${log === undefined ? '' : ` ${log.lastIndex}`}`);
          return step;
        },
      },
      databases: {
        exists: () => true,
        reopenHere: async (name) => void this.steps.push(`reopen ${name}`),
      },
      loop: () => ({
        exclusively: (run) => run(),
        beginAnew: () => void this.steps.push('begin anew'),
      }),
      timers: {
        after: (_, run) => {
          this.retries.push(run);
          return () => {};
        },
      },
      report: (text) => void this.steps.push(text),
    });
  }

  tell(told: Told): void {
    this.#status = statusOf(told);
    this.#listener(this.#status);
  }

  begin(): Promise<void> {
    return this.entry.follow(() => void this.steps.push('apply'));
  }
}

function statusOf({ raftState = 'STARTING', lastIndex = 0, ...told }: Told): ConsensusStatus {
  return { raftState, firstIndex: 1, lastIndex, ...told } as ConsensusStatus;
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

test('a group that is known is entered before the databases are opened, and applied at once', async () => {
  const server = new Server({ clusterId: 'one' });
  server.entries.set('one', 'other');
  await server.entry.beforeDatabases();
  assert.deepEqual(server.steps, ['other one'], 'nothing is open that had to be opened anew');
  assert.match(server.entry.reason ?? '', /not entered group one/);
  await server.begin();
  assert.deepEqual(server.steps, ['other one', 'apply']);
  assert.deepEqual([server.entry.hasBegun, server.entry.reason], [true, undefined]);
});

test('a group that cannot be entered yet keeps no server from its start', async () => {
  const server = new Server({ clusterId: 'one' });
  server.broken = 1;
  await server.entry.beforeDatabases();
  assert.match(server.steps[0] ?? '', /tried again: the disk is full/);
  server.entries.set('one', 'other');
  await server.begin();
  assert.deepEqual(server.steps.slice(1), ['other one', 'begin anew', 'reopen school', 'apply']);
});

test('a group that is found later is entered then; databases of the old log are opened anew first', async () => {
  const server = new Server({ clusterId: undefined });
  await server.entry.beforeDatabases();
  await server.begin();
  assert.deepEqual(
    [server.steps, server.entry.hasBegun, server.entry.reason],
    [[], false, undefined],
  );
  server.entries.set('two', 'other');
  server.tell({ clusterId: 'two', raftState: 'RUNNING' });
  server.tell({ clusterId: 'two', raftState: 'RUNNING', lastIndex: 3 });
  await settled();
  assert.deepEqual(server.steps, ['other two 0', 'begin anew', 'reopen school', 'apply']);
});

test('a group that is found while databases are opened waits for them', async () => {
  const server = new Server({ clusterId: undefined });
  await server.entry.beforeDatabases();
  server.tell({ clusterId: 'two', raftState: 'RUNNING', lastIndex: 1 });
  server.tell({ clusterId: 'two', raftState: 'RUNNING', lastIndex: 9 });
  await settled();
  assert.deepEqual(server.steps, []);
  await server.begin();
  assert.deepEqual(server.steps, ['known two 1', 'apply'], 'its log as it was found');
});

test('where the log must be seen first, it is waited for', async () => {
  const server = new Server({ clusterId: 'one' });
  server.entries.set('one', 'open');
  await server.entry.beforeDatabases();
  await server.begin();
  assert.equal(server.entry.hasBegun, false);
  server.tell({ clusterId: 'one', raftState: 'RUNNING', lastIndex: 50 });
  await settled();
  assert.deepEqual(server.steps, ['open one', 'open one', 'taken one 50', 'apply']);
});

test('the log of a sole survivor goes on under its new id', async () => {
  const server = new Server({ clusterId: 'one' });
  await server.entry.beforeDatabases();
  await server.begin();
  server.tell({ clusterId: 'two', earlierClusterIds: ['one'], raftState: 'RUNNING' });
  await settled();
  assert.deepEqual(server.steps, ['known one', 'apply', 'known two 0']);
});

test('a catalog that cannot be written is tried again, and nothing is applied until then', async () => {
  const server = new Server({ clusterId: undefined });
  await server.begin();
  server.broken = 2;
  server.tell({ clusterId: 'two', raftState: 'RUNNING' });
  for (let turn = 0; turn < 2; turn += 1) {
    await settled();
    assert.match(server.steps.at(-1) ?? '', /tried again: the disk is full/);
    assert.equal(server.entry.hasBegun, false);
    server.retries.shift()?.();
  }
  await settled();
  assert.deepEqual(server.steps.slice(2), ['known two 0', 'apply']);
});
