import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { LogRequest, OpenedLog } from '#cluster/log-store/log-requests.ts';
import { type Answer, LogService } from '#cluster/log-store/log-service.ts';
import type { Entry } from '#raft/vocabulary.ts';

interface Held {
  readonly directory: string;
  open(reformatsMax: number): OpenedLog;
  ask(request: LogRequest): Answer;
  close(): void;
}

function logIn(directory: string): Held {
  const service = new LogService();
  const ask = (request: LogRequest): Answer => {
    const answers: Answer[] = [];
    service.handle([request], (_, done) => answers.push(done));
    return answers[0] as Answer;
  };
  const open = (reformatsMax: number) => {
    const places = { directory, peerId: 'a_1', segmentBytes: 65_536, newestBytesMax: 1e6 };
    const answer = ask({ kind: 'open', ...places, wipes: false, reformatsMax });
    if ('error' in answer) throw answer.error;
    return answer.value as OpenedLog;
  };
  return { directory, open, ask, close: () => void ask({ kind: 'close' }) };
}

/** Flips a bit in the first of two entries, each flushed by itself. */
function damage(held: Held): void {
  const entry = (index: number): Entry => ({
    index,
    term: 1,
    kind: 'normal',
    data: Buffer.alloc(500, index),
  });
  for (const index of [1, 2])
    held.ask({
      kind: 'append',
      job: { entries: [entry(index)], hardState: undefined, mustSync: true },
    });
  held.close();
  const path = join(held.directory, 'seg-0000000000000001.log');
  const bytes = readFileSync(path);
  const at = bytes.indexOf(Buffer.alloc(100, 1)) + 50;
  bytes.writeUInt8((bytes[at] ?? 0) ^ 4, at);
  writeFileSync(path, bytes);
}

function temporary(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-set-aside-'));
  context.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

test('a damaged log is set aside, as often in a row as the settings allow, and its member must join anew', (context) => {
  const directory = temporary(context);
  const first = logIn(directory);
  const { identity } = first.open(2);
  damage(first);
  assert.throws(() => logIn(directory).open(0), /is damaged at byte/);
  const second = logIn(directory);
  const reopened = second.open(2);
  assert.match(reopened.setAside ?? '', /is damaged at byte/);
  assert.equal(reopened.last, 0);
  assert.equal(reopened.identity.mustJoin, true);
  assert.notEqual(reopened.identity.storageId, identity.storageId);
  assert.ok(existsSync(join(directory, 'set-aside', 'seg-0000000000000001.log')));
  damage(second);
  const third = logIn(directory);
  assert.match(third.open(2).setAside ?? '', /is damaged/);
  damage(third);
  assert.throws(() => logIn(directory).open(2), /set aside 2 times in a row/);
});

test('a log that has served well since ends the row, and a crash while it is set aside is finished by the next start', (context) => {
  const directory = temporary(context);
  const first = logIn(directory);
  first.open(1);
  damage(first);
  const second = logIn(directory);
  second.open(1);
  second.ask({ kind: 'healthy' });
  damage(second);
  const third = logIn(directory);
  assert.match(third.open(1).setAside ?? '', /is damaged/);
  third.close();
  const record = { count: 1, reason: 'it was damaged', isPending: true };
  writeFileSync(join(directory, 'set-aside.json'), JSON.stringify(record));
  const fourth = logIn(directory);
  const { identity, last } = fourth.open(1);
  assert.deepEqual([identity.mustJoin, last], [true, 0]);
  fourth.close();
});

test("files of another member's log are no damage", (context) => {
  const directory = temporary(context);
  const held = logIn(directory);
  held.open(5);
  held.close();
  const path = join(directory, 'identity.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace('a_1', 'b_1'));
  assert.throws(() => logIn(directory).open(5), /belongs to the peer b_1/);
});
