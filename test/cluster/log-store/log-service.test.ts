import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LogRequest } from '#cluster/log-store/log-requests.ts';
import { LogService } from '#cluster/log-store/log-service.ts';

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
