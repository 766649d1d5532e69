import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { copyFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { StageState } from '#cluster/cluster-view.ts';
import { type EntryKindNumber, entryKind } from '#cluster/replication/entry-codec.ts';
import { StageDesk } from '#cluster/staging/stage-desk.ts';
import { StagedDatabases } from '#cluster/staging/staged-databases.ts';
import { DatabaseError } from '#core/errors.ts';
import { silentLog } from '#core/log.ts';
import { systemRuntime } from '#platform/system-runtime.ts';

// Databases that are restored or imported into a cluster: what is asked of the members, and the files on one of them.

function stagedIn(
  context: TestContext,
  fetch: (directory: string) => Promise<void> = async () => {},
): { readonly staged: StagedDatabases; readonly directory: string } {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-staged-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const staged = new StagedDatabases({
    directory,
    archive: async ({ work, fill, archive }) => {
      await fill(work);
      await copyFile(join(work, 'data'), join(archive.directory, archive.fileName));
      return 77;
    },
    unpack: (archive, target) => copyFile(archive, join(target, 'data')),
    fetch: (_, target) => fetch(target),
    log: silentLog,
  });
  return { staged, directory };
}

interface Script {
  readonly proposed: EntryKindNumber[];
  readonly asked: string[];
  readonly desk: StageDesk;
}

function deskOf(
  staged: StagedDatabases,
  answer: (peer: string, times: number) => StageState,
  { leads = () => true }: { readonly leads?: () => boolean } = {},
): Script {
  const proposed: EntryKindNumber[] = [];
  const asked: string[] = [];
  let nowMs = 0;
  const desk = new StageDesk({
    consensus: {
      self: 'a',
      status: () =>
        ({
          role: leads() ? 'leader' : 'follower',
          configuration: { voters: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] },
        }) as never,
    },
    proposer: {
      propose: async (kind) => proposed.push(kind),
      proposeFor: async () => 0,
    },
    staged,
    ask: async (peer) => {
      asked.push(peer);
      return answer(peer, asked.filter((one) => one === peer).length);
    },
    runtime: {
      random: systemRuntime.random,
      clock: { ...systemRuntime.clock, monotonicMs: () => nowMs },
      timers: {
        ...systemRuntime.timers,
        sleep: async (ms) => {
          nowMs += ms;
        },
      },
    },
  });
  return { proposed, asked, desk };
}

const fill = (directory: string) => writeFile(join(directory, 'data'), 'rows');

test('a database is published when a majority has it, and the rest had time to follow', async (context) => {
  const { staged, directory } = stagedIn(context);
  const { desk, proposed, asked } = deskOf(staged, (peer, times) => ({
    state: peer === 'b' || times > 5 ? 'staged' : 'fetching',
  }));
  const uuid = await desk.install('school', fill, false);
  assert.deepEqual(proposed, [entryKind.databaseStage, entryKind.databasePublish]);
  assert.equal(asked.filter((peer) => peer === 'c').length, 6);
  assert.deepEqual(readdirSync(directory).sort(), [uuid, `${uuid}.zip`]);
});

test('one that a majority cannot get is given up, and the answer says why', async (context) => {
  const { staged } = stagedIn(context);
  const { desk, proposed } = deskOf(staged, (peer) => ({
    state: 'failed',
    error: `${peer} is full`,
  }));
  await assert.rejects(
    desk.install('school', fill, true),
    /'school' reached 1 of the 2 servers .*b is full; c is full/,
  );
  assert.deepEqual(proposed, [entryKind.databaseStage, entryKind.databaseStageAbort]);
});

test('a leader that is one no more publishes nothing', async (context) => {
  const { staged } = stagedIn(context);
  let looks = 0;
  const leads = () => {
    looks += 1;
    return looks < 3;
  };
  const { desk, proposed } = deskOf(staged, () => ({ state: 'fetching' }), { leads });
  await assert.rejects(desk.install('school', fill, true), /the leader changed/);
  assert.equal(proposed.includes(entryKind.databasePublish), false);
});

test('what cannot be built leaves nothing and proposes nothing', async (context) => {
  const { staged, directory } = stagedIn(context);
  const { desk, proposed } = deskOf(staged, () => ({ state: 'staged' }));
  const broken = async (target: string) => {
    await fill(target);
    throw new DatabaseError('Validation', 'the archive is refused');
  };
  await assert.rejects(desk.install('school', broken, false), /the archive is refused/);
  assert.deepEqual([proposed, readdirSync(directory)], [[], []]);
});

test('a start keeps what the log knows and is whole, and drops the rest', async (context) => {
  const { staged, directory } = stagedIn(context, fill);
  const uuid = '11111111-0000-4000-8000-000000000000';
  const unknown = '22222222-0000-4000-8000-000000000000';
  await staged.build(uuid, fill);
  await staged.build(unknown, fill);
  const { staged: again } = { staged: stagedOver(directory) };
  await again.prepare([{ uuid, name: 'school', offset: 0 }]);
  assert.deepEqual(readdirSync(directory).sort(), [uuid, `${uuid}.zip`]);
  assert.deepEqual([again.isStaged(uuid), again.isStaged(unknown)], [true, false]);
});

function stagedOver(directory: string): StagedDatabases {
  const unused = async () => {
    throw new Error('not expected');
  };
  return new StagedDatabases({
    directory,
    archive: unused,
    unpack: unused,
    fetch: unused,
    log: silentLog,
  });
}

test('who fetches what is staged is told how large archive and files are', async (context) => {
  const { staged } = stagedIn(context);
  const uuid = '33333333-0000-4000-8000-000000000000';
  await staged.build(uuid, async (directory) => {
    await fill(directory);
    await writeFile(join(directory, 'more'), 'and more rows');
  });
  await writeFile(join(staged.path(uuid), 'lists'), 'edges');
  const { sizes, close } = await staged.open(uuid);
  close();
  assert.deepEqual(sizes, { archiveBytes: 4, databaseBytes: 9 });
  await staged.discard(uuid);
  await assert.rejects(staged.open(uuid), /nothing is staged/);
});

test('nobody reads a path through the name of what is staged', async (context) => {
  const { staged } = stagedIn(context);
  for (const name of ['../../etc/passwd', '', 'x', '/etc/passwd', '%2e%2e'])
    await assert.rejects(staged.open(name), /nothing is staged/);
});
