import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DiskJobs } from '#cluster/consensus/disk-jobs.ts';
import { messageOf } from '#raft/message.ts';
import type { AppendJob } from '#raft/ready.ts';
import type { HardState } from '#raft/vocabulary.ts';

const nothing: AppendJob = {
  entries: [],
  hardState: undefined,
  snapshot: undefined,
  mustSync: false,
  afterwards: [],
};
const conf = { voters: [], votersOutgoing: [], learners: [], learnersNext: [] };

test('while a snapshot is installed votes go on, and what is written afterwards takes none back', async () => {
  const [written, told]: [string[], string[]] = [[], []];
  const say = ({ term, vote, commit }: HardState) => `${term}/${vote}/${commit}`;
  let hardState: HardState = { term: 5, vote: null, commit: 40 };
  let installed = () => {};
  const store = {
    barrier: async () => {},
    append: async (job: AppendJob) => {
      if (job.hardState !== undefined) written.push(say(job.hardState));
    },
    reset: async (_: unknown, now: HardState) => void written.push(`reset ${say(now)}`),
  };
  const jobs = new DiskJobs({
    store: store as never,
    install: () =>
      new Promise((resolve) => {
        installed = resolve;
      }),
    hardState: () => hardState,
    done: (messages) => void told.push(...messages.map(({ type }) => type)),
    failed: assert.fail,
  });
  jobs.push({ ...nothing, hardState: { term: 5, vote: null, commit: 7 } });
  const snapshot = { index: 40, term: 5, conf, body: new Uint8Array(0) };
  jobs.push({
    ...nothing,
    snapshot: snapshot as never,
    hardState,
    mustSync: true,
    afterwards: [messageOf('AppendResp', 'a', 'b', {})],
  });
  jobs.push({ ...nothing, afterwards: [messageOf('PreVoteResp', 'a', 'b', {})] });
  assert.deepEqual(told, ['PreVoteResp']);
  hardState = { term: 6, vote: null, commit: 40 };
  jobs.push({ ...nothing, hardState, mustSync: true });
  hardState = { term: 6, vote: 'b', commit: 40 };
  jobs.push({
    ...nothing,
    hardState,
    mustSync: true,
    afterwards: [messageOf('VoteResp', 'a', 'b', {}), messageOf('AppendResp', 'a', 'b', {})],
  });
  await new Promise(setImmediate);
  assert.deepEqual(told, ['PreVoteResp', 'VoteResp']);
  // What is committed by the snapshot is not in the log that is still on the disk.
  assert.deepEqual(written, ['6/b/7']);
  installed();
  await new Promise(setImmediate);
  assert.deepEqual(written, ['6/b/7', 'reset 6/b/40', '6/b/40', '6/b/40', '6/b/40']);
  assert.deepEqual(told.slice(2), ['AppendResp', 'AppendResp']);
});

test('what one flush made durable is passed on as one, in its order, also what waited for nothing', async () => {
  const flushed: (() => void)[] = [];
  const told: string[][] = [];
  const store = {
    append: () =>
      new Promise<void>((resolve) => {
        flushed.push(resolve);
      }),
    barrier: () =>
      new Promise<void>((resolve) => {
        flushed.push(resolve);
      }),
  };
  const jobs = new DiskJobs({
    store: store as never,
    install: () => assert.fail(),
    hardState: () => assert.fail(),
    done: (messages) => void told.push(messages.map(({ index }) => String(index))),
    failed: assert.fail,
  });
  const answered = (index: number) => [messageOf('AppendResp', 'a', 'b', { index })];
  for (const index of [1, 2])
    jobs.push({ ...nothing, mustSync: true, afterwards: answered(index) });
  flushed.splice(0).forEach((done) => void done());
  // It needs no disk, and what stands before it is durable and not passed on yet.
  await Promise.resolve();
  jobs.push({ ...nothing, afterwards: answered(3) });
  assert.deepEqual(told, []);
  await new Promise(setImmediate);
  flushed.splice(0).forEach((done) => void done());
  await new Promise(setImmediate);
  assert.deepEqual(told, [['1', '2'], ['3']]);
});

test('a write that fails behind one that did not takes nothing back', async () => {
  const told: string[] = [];
  let writes = 0;
  const jobs = new DiskJobs({
    store: {
      append: async () => {
        writes += 1;
        if (writes === 2) throw new Error('the disk is full');
      },
    } as never,
    install: () => assert.fail(),
    hardState: () => assert.fail(),
    done: (messages) => void told.push(...messages.map(({ type }) => type)),
    failed: ({ message }) => void told.push(message),
  });
  const afterwards = [messageOf('AppendResp', 'a', 'b', {})];
  for (let i = 0; i < 3; i++) jobs.push({ ...nothing, mustSync: true, afterwards });
  await new Promise(setImmediate);
  assert.deepEqual(told.slice(0, 2), ['AppendResp', 'the disk is full']);
});
