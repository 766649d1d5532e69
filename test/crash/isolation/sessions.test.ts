import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { HttpClient, quickStart, startServer } from '../../support/server-process.ts';
import { runSessions } from './sessions.ts';

// The long form is `npm run crash:isolation`.
test('the history of random concurrent sessions has no anomaly that its level forbids', async () => {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-isolation-'));
  const rootPassword = 'isolation-password';
  const server = await startServer({ rootPath, rootPassword, environment: quickStart });
  try {
    const outcome = await runSessions(new HttpClient(server.port, 'root', rootPassword), {
      seed: 5,
      clients: 6,
      transactionsPerClient: 25,
      keyCount: 3,
      database: 'lists',
    });
    assert.deepEqual(outcome.anomalies, []);
    assert.ok(outcome.committed > 60, 'most transactions are committed');
  } finally {
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
});
