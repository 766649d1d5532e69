import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { residentMegabytes } from '../child.ts';
import { elapsedMs } from '../measure.ts';
import { spineParts } from './data.ts';

// node load-child.ts ours|sqlite: one load in a process of its own, with nothing else in it. It prints how long the load took
// and the most memory that the process has ever held, the program itself included.

async function loadOurs(): Promise<number> {
  const { EnginePeer } = await import('./engine-peer.ts');
  const engine = await EnginePeer.open();
  const ms = await elapsedMs(() => engine.load(spineParts()));
  await engine.close();
  return ms;
}

async function loadSqlite(): Promise<number> {
  const { SqlitePeer } = await import('./sqlite-peer.ts');
  const directory = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const sqlite = new SqlitePeer(directory, 'load');
  const ms = await elapsedMs(() => sqlite.load(spineParts()));
  sqlite.close();
  rmSync(directory, { recursive: true, force: true });
  return ms;
}

const ms = process.argv[2] === 'ours' ? await loadOurs() : await loadSqlite();
const peakMegabytes = residentMegabytes(process.pid, 'VmHWM');
process.stdout.write(`${JSON.stringify({ ms, peakMegabytes })}\n`);
process.exit(0);
