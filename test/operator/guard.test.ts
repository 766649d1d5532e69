import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { guardVolume, runGuard } from '../../operator/guard/guard.ts';

// Which volume may start a member, on real directories: the table of operator.md 5.2.

interface Place {
  readonly volume: string;
  readonly managedFiles: string;
  readonly members: string;
}

function withPlace(run: (place: Place) => Promise<void>): () => Promise<void> {
  return async () => {
    const root = mkdtempSync(join(tmpdir(), 'polyad-guard-'));
    const place = {
      volume: join(root, 'volume'),
      managedFiles: join(root, 'files'),
      members: join(root, 'members'),
    };
    for (const directory of Object.values(place)) mkdirSync(directory);
    try {
      await run(place);
    } finally {
      rmSync(root, { recursive: true });
    }
  };
}

function record({ members }: Place, state: string, incarnation = 1, clusterId = 'A'): void {
  const text = { clusterId, initialised: true, members: { '0': { state, incarnation } } };
  writeFileSync(join(members, 'members.json'), JSON.stringify(text));
}

const guard = (place: Place, podName = 'orders-0') => guardVolume({ ...place, podName });

function file(place: Place, path: string): string {
  return readFileSync(join(place.volume, path), 'utf8');
}

test(
  'a new volume starts a new member and gets its directories and files',
  withPlace(async (place) => {
    record(place, 'fresh');
    writeFileSync(join(place.managedFiles, 'service.json'), '{"a":1}');
    writeFileSync(join(place.managedFiles, 'backup.json'), '{}');
    assert.equal((await guard(place)).mayStart, true);
    for (const directory of ['databases', 'config', 'backups'])
      assert.equal(existsSync(join(place.volume, directory)), true);
    assert.deepEqual(JSON.parse(file(place, 'config/service.json')), {
      'service.server.directoryLockTimeout': '30000',
      a: 1,
    });
    assert.equal(existsSync(join(place.volume, 'config/backup.json')), true);
  }),
);

test(
  'a known volume starts again, with the files of now',
  withPlace(async (place) => {
    record(place, 'fresh');
    writeFileSync(join(place.managedFiles, 'backup.json'), '{}');
    await guard(place);
    writeFileSync(join(place.volume, 'config/server-users.jsonl'), 'root');
    record(place, 'member');
    rmSync(join(place.managedFiles, 'backup.json'));
    writeFileSync(join(place.managedFiles, 'service.json'), '{"a":2}');
    assert.equal((await guard(place)).mayStart, true);
    assert.equal(JSON.parse(file(place, 'config/service.json')).a, 2);
    assert.equal(existsSync(join(place.volume, 'config/backup.json')), false);
    assert.equal(file(place, 'config/server-users.jsonl'), 'root');
  }),
);

test(
  'an empty volume does not start a member that held data',
  withPlace(async (place) => {
    record(place, 'member');
    const { mayStart, message } = await guard(place);
    assert.equal(mayStart, false);
    assert.match(message, /^VolumeLost: .*orders-0/);
    assert.equal(existsSync(join(place.volume, 'databases')), false);
    record(place, 'replace', 2);
    assert.equal((await guard(place)).mayStart, true);
    record(place, 'member', 2);
    assert.equal((await guard(place)).mayStart, true);
  }),
);

test(
  "another cluster's volume, or another member's, does not start",
  withPlace(async (place) => {
    record(place, 'fresh', 1, 'B');
    await guard(place);
    record(place, 'member', 1, 'A');
    assert.match((await guard(place)).message, /^ForeignVolume/);
    record(place, 'member', 1, 'B');
    assert.match((await guard(place, 'orders-1')).message, /^ForeignVolume|^VolumeLost/);
    record(place, 'adopt', 2, 'A');
    assert.equal((await guard(place)).mayStart, true);
    record(place, 'member', 2, 'A');
    assert.equal((await guard(place)).mayStart, true);
  }),
);

test(
  'a volume of an earlier life is set aside, never deleted',
  withPlace(async (place) => {
    record(place, 'fresh');
    await guard(place);
    writeFileSync(join(place.volume, 'databases/kept'), 'data');
    record(place, 'replace', 2);
    assert.equal((await guard(place)).mayStart, true);
    assert.equal(file(place, 'retired-1/databases/kept'), 'data');
    assert.equal(existsSync(join(place.volume, 'databases/kept')), false);
  }),
);

test(
  'what the guard decides goes to the termination message and the exit code',
  withPlace(async (place) => {
    const message = join(place.volume, '..', 'message');
    const environment = {
      POLYAD_GUARD_VOLUME: place.volume,
      POLYAD_GUARD_FILES: place.managedFiles,
      POLYAD_GUARD_MEMBERS: place.members,
      POLYAD_GUARD_MESSAGE: message,
      POD_NAME: 'orders-0',
    };
    assert.equal(await runGuard(environment, () => {}), 1);
    assert.match(readFileSync(message, 'utf8'), /guard failed/);
    record(place, 'fresh');
    assert.equal(await runGuard(environment, () => {}), 0);
    assert.match(readFileSync(message, 'utf8'), /new volume/);
  }),
);

test(
  'a volume that somebody laid there is taken over, with what it holds; an empty one is not',
  withPlace(async (place) => {
    const text = {
      clusterId: 'A',
      initialised: true,
      replicated: true,
      members: { '0': { state: 'adopt', incarnation: 1 } },
    };
    writeFileSync(join(place.members, 'members.json'), JSON.stringify(text));
    mkdirSync(join(place.volume, 'databases'));
    const found = await guard(place);
    assert.deepEqual([found.mayStart, found.startMode], [true, undefined]);
    assert.match(found.message, /^volume taken over/);
    assert.match(file(place, '.polyad-volume.json'), /"clusterId":"A","ordinal":0/);
    assert.match((await guard(place)).message, /^known volume/);
  }),
);

test(
  'while a lost quorum is given up only the survivor starts, with the word for it; nothing of the others is touched',
  withPlace(async (place) => {
    const write = (step: string | undefined, survivor = 0) =>
      writeFileSync(
        join(place.members, 'members.json'),
        JSON.stringify({
          clusterId: 'A',
          initialised: true,
          replicated: true,
          ...(step === undefined ? undefined : { recovery: { token: 'quorum-1', survivor, step } }),
          members: {
            '0': { state: 'member', incarnation: 1 },
            '1': { state: 'member', incarnation: 1 },
          },
        }),
      );
    const marker = { clusterId: 'A', ordinal: 0, incarnation: 1 };
    writeFileSync(join(place.managedFiles, 'service.json'), '{}');
    writeFileSync(join(place.volume, '.polyad-volume.json'), JSON.stringify(marker));
    mkdirSync(join(place.volume, 'databases'));
    const refusal = async () => {
      const { mayStart, message } = await guard(place);
      assert.equal(existsSync(join(place.volume, 'databases')), true);
      return mayStart ? undefined : message;
    };
    write('stop');
    assert.match((await refusal()) ?? '', /^QuorumRecovery: orders-0 waits until all members/);
    write('survive', 1);
    assert.match((await refusal()) ?? '', /^QuorumRecovery: orders-0 waits until ordinal 1 leads/);
    write('survive');
    assert.equal(await refusal(), undefined);
    assert.match(file(place, 'config/service.json'), /"service.ha.quorumRecovery":\s*"quorum-1"/);
    write(undefined);
    assert.equal(await refusal(), undefined);
    assert.doesNotMatch(file(place, 'config/service.json'), /quorumRecovery/);
    rmSync(join(place.volume, '.polyad-volume.json'));
    write('survive');
    assert.match((await refusal()) ?? '', /^QuorumRecovery: orders-0 has no data/);
  }),
);

test(
  'members that form their group together start without a mode of their own; once it is formed an empty volume joins',
  withPlace(async (place) => {
    const write = (initialised: boolean) =>
      writeFileSync(
        join(place.members, 'members.json'),
        JSON.stringify({
          clusterId: 'A',
          initialised,
          replicated: true,
          formation: 'static',
          members: { '0': { state: 'member', incarnation: 1 } },
        }),
      );
    write(false);
    const founder = await guard(place, 'orders-2');
    assert.deepEqual([founder.mayStart, founder.startMode], [true, undefined]);
    rmSync(join(place.volume, '.polyad-volume.json'));
    write(true);
    const late = await guard(place, 'orders-2');
    assert.deepEqual([late.mayStart, late.startMode], [true, 'join']);
  }),
);
