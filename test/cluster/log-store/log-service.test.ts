import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LogRequest, OpenedLog } from '#cluster/log-store/log-requests.ts';
import { type Answer, LogService, type LogTrouble } from '#cluster/log-store/log-service.ts';
import { readSnapshotMeta, writeSnapshotMeta } from '#cluster/log-store/raft-directory.ts';
import { lockFileName } from '#platform/process-lock.ts';
import { smallDisk } from '../../support/small-disk.ts';

test('jobs are answered in their order, also those that need no flush of their own', () => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-log-service-'));
  const service = new LogService();
  const hardState = { term: 1, vote: null, commit: 0 };
  const entries = [{ index: 1, term: 1, kind: 'normal', data: Buffer.from('a') }] as const;
  const requests: LogRequest[] = [
    {
      kind: 'open',
      directory,
      peerId: 'a_1',
      segmentBytes: 65_536,
      newestBytesMax: 1000,
      wipes: false,
    },
    { kind: 'append', job: { entries, hardState: undefined, mustSync: true } },
    { kind: 'append', job: { entries: [], hardState, mustSync: false } },
    { kind: 'read', low: 1, high: 2, bytesMax: 10 },
  ];
  const answered: number[] = [];
  service.handle(requests, (i, done) => {
    assert.ok(!('error' in done), `request ${i}`);
    answered.push(i);
  });
  assert.deepEqual(answered, [0, 1, 2, 3]);
  rmSync(directory, { recursive: true });
});

test('a log that is not kept begins anew at each start, with another storage; the lock of the process stays', (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-log-service-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const start = (wipes: boolean): OpenedLog => {
    const service = new LogService();
    const answers: Answer[] = [];
    const places = { directory, peerId: 'a_1', segmentBytes: 65_536, newestBytesMax: 1000 };
    const entries = [{ index: 1, term: 1, kind: 'normal', data: Buffer.from('a') }] as const;
    service.handle([{ kind: 'open', ...places, wipes }], (_, done) => answers.push(done));
    const [opened] = answers;
    assert.ok(opened !== undefined && 'value' in opened);
    const found = opened.value as OpenedLog;
    if (found.last === 0)
      service.handle(
        [{ kind: 'append', job: { entries, hardState: undefined, mustSync: true } }],
        (_, done) => assert.ok(!('error' in done)),
      );
    service.handle([{ kind: 'close' }], () => {});
    return found;
  };
  const first = start(true);
  writeFileSync(join(directory, lockFileName), '');
  const kept = start(false);
  assert.deepEqual([kept.last, kept.identity.storageId], [1, first.identity.storageId]);
  const anew = start(true);
  assert.equal(anew.last, 0);
  assert.notEqual(anew.identity.storageId, first.identity.storageId);
  assert.equal(anew.identity.admitted, false);
  assert.ok(existsSync(join(directory, lockFileName)));
});

test('on a full disk entries are refused, votes are taken from the reserve, and a restart in place goes on', (context) => {
  const root = smallDisk(context, 12 * 1024 * 1024);
  if (root === undefined) {
    context.skip('no file system can be mounted');
    return;
  }
  const directory = join(root, 'raft');
  const service = new LogService();
  const ask = (request: LogRequest): Answer => {
    const answers: Answer[] = [];
    service.handle([request], (_, done) => answers.push(done));
    return answers[0] as Answer;
  };
  const segmentBytes = 1024 * 1024;
  const open = () =>
    ask({
      kind: 'open',
      directory,
      peerId: 'a_1',
      segmentBytes,
      newestBytesMax: 1e6,
      wipes: false,
    });
  const append = (index: number) => {
    const data = Buffer.alloc(100_000, index);
    const entries = [{ index, term: 1, kind: 'normal', data }] as const;
    return ask({ kind: 'append', job: { entries, hardState: undefined, mustSync: true } });
  };
  assert.ok(!('error' in open()));
  let last = 0;
  let failure: LogTrouble | undefined;
  while (failure === undefined) {
    const done = append(last + 1);
    if ('error' in done) failure = done.error;
    else last += 1;
  }
  assert.deepEqual([failure.code, failure.index], ['ENOSPC', last + 1]);
  assert.ok(last > 50);
  assert.ok('error' in append(last + 1));
  const hardState = { term: 7, vote: 'b_1', commit: 3 };
  const vote = { entries: [], hardState, mustSync: true };
  assert.deepEqual(ask({ kind: 'append', job: vote }), { value: undefined });
  assert.ok('error' in append(last + 1));
  const opened = open();
  assert.ok('value' in opened);
  const found = opened.value as OpenedLog;
  assert.deepEqual([found.last, found.hardState], [last, hardState]);
  const snapshot = { index: last, term: 1, conf: noConf, confIndex: 0, body: new Uint8Array(0) };
  assert.ok(!('error' in ask({ kind: 'compact', snapshot, purgeTo: last })));
  assert.ok(!('error' in append(last + 1)));
  ask({ kind: 'close' });
});

const noConf = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

test('a snapshot that an earlier build wrote names no index of its configuration: it counts from the snapshot on', (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-log-service-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const stored = { index: 9, term: 2, conf: noConf, body: new Uint8Array(0) };
  writeSnapshotMeta(directory, { ...stored, confIndex: 4 });
  assert.equal(readSnapshotMeta(directory)?.confIndex, 4);
  writeFileSync(join(directory, 'snapshot.json'), JSON.stringify({ ...stored, body: '' }));
  assert.equal(readSnapshotMeta(directory)?.confIndex, 9);
});
