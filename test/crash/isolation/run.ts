import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { HttpClient, startServer } from '../../support/server-process.ts';
import { runSessions } from './sessions.ts';

// npm run crash:isolation -- --runs 20 --seed 1: random sessions over a real server, their histories searched for anomalies.
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    clients: { type: 'string', default: '12' },
    transactions: { type: 'string', default: '120' },
  },
});
const password = 'isolation-password';
const rootPath = mkdtempSync(join(tmpdir(), 'polyad-isolation-'));
const server = await startServer({ rootPath, rootPassword: password });
let failed = 0;
try {
  const client = new HttpClient(server.port, 'root', password);
  for (let run = 0; run < Number(values.runs); run += 1) {
    const seed = Number(values.seed) + run;
    const outcome = await runSessions(client, {
      seed,
      clients: Number(values.clients),
      transactionsPerClient: Number(values.transactions),
      keyCount: 2 + (run % 6),
      database: `run${run}`,
    });
    const line = `seed ${seed}: ${outcome.committed} committed, ${outcome.aborted} aborted`;
    process.stdout.write(`${line}, ${outcome.anomalies.length} anomalies\n`);
    for (const text of outcome.anomalies.slice(0, 10)) process.stdout.write(`ANOMALY ${text}\n`);
    if (outcome.anomalies.length > 0) failed += 1;
  }
} finally {
  await server.kill();
  rmSync(rootPath, { recursive: true, force: true });
}
process.stdout.write(`isolation: ${Number(values.runs) - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
