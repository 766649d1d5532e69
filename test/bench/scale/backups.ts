import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpClient, startServer } from '../../support/server-process.ts';
import { cpuSeconds } from '../child.ts';
import { type Comparison, elapsedMs } from '../measure.ts';
import type { SpineData } from '../spine/data.ts';
import { benchDatabase, uploadSpine } from '../spine/upload.ts';
import { atMost, password } from './sides.ts';

/** Seconds for a gigabyte of a database on disk. */
const secondsMost = 12;

/** A backup of the spine's database and its restore, in seconds for each gigabyte that the database has on disk. */
export async function benchBackups(data: SpineData): Promise<Comparison[]> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const server = await startServer({ rootPath, rootPassword: password });
  const processId = server.child.pid ?? 0;
  const client = new HttpClient(server.port, 'root', password);
  const timed = async (name: string, work: () => Promise<unknown>): Promise<Comparison> => {
    const before = cpuSeconds(processId);
    const ms = await elapsedMs(work);
    const gigabytes = sizeOf(join(rootPath, 'databases', benchDatabase)) / 2 ** 30;
    const cpu = (cpuSeconds(processId) - before) / gigabytes;
    const remarks = `${cpu.toFixed(1)} s of processor time a GB; ${(gigabytes * 1024).toFixed(0)} MB on disk`;
    const limit = secondsMost;
    return atMost(name, ms / 1000 / gigabytes, { limit, unit: 's for 1 GB', remarks });
  };
  try {
    await uploadSpine(server.port, password, data);
    let file = '';
    const backup = await timed('backup', async () => {
      const [row] = await client.sql(benchDatabase, 'BACKUP DATABASE');
      file = String(row?.['backupFile']);
    });
    const restore = await timed('restore', async () => {
      const url = `file://${join(rootPath, 'backups', benchDatabase, file)}`;
      const answer = await client.server(`restore database copy ${url}`);
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    });
    const [row] = await client.sql('copy', 'SELECT count(*) AS n FROM KNOWS');
    if (row?.['n'] !== data.from.length) throw new Error(`${String(row?.['n'])} edges`);
    return [backup, restore];
  } finally {
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
}

/** Bytes on disk, holes of sparse files left out. */
function sizeOf(directory: string): number {
  let bytes = 0;
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).blocks * 512;
  return bytes;
}
