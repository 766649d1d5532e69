import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../support/server-process.ts';
import { startListening, stopChild } from '../child.ts';
import { generateLoad, requestBytes } from '../http-load.ts';
import { alternate, type Comparison, median } from '../measure.ts';
import type { SpineData } from '../spine/data.ts';
import { benchDatabase, uploadSpine } from '../spine/upload.ts';

const password = 'bench-password';

/** Answering gets quicker for some seconds. */
const warmUpMs = 6000;
/** The machine's pace changes from second to second by more than the difference asked for, so windows stand side by side. */
const windowMs = 300;
const pairsPerRound = 8;

/** A point query with a login's token and with Basic, beside servers that only answer. */
export async function benchPoints(data: SpineData, rounds: number): Promise<Comparison[]> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const server = await startServer({ rootPath, rootPassword: password });
  const bareProgram = new URL('./bare-server.ts', import.meta.url).pathname;
  const plain = await startListening(bareProgram, 'http');
  const empty = await startListening(bareProgram, 'fastify');
  try {
    await uploadSpine(server.port, password, data);
    const basic = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
    const login = await fetch(`http://127.0.0.1:${server.port}/api/v1/login`, {
      method: 'POST',
      headers: { authorization: basic },
    });
    const { token } = (await login.json()) as { readonly token: string };
    const path = `/api/v1/query/${benchDatabase}`;
    const load = async (
      port: number,
      to: string,
      authorization: string,
      durationMs = 1500,
    ): Promise<number> => {
      const result = await generateLoad({
        port,
        connections: 8,
        durationMs,
        request: (n) =>
          requestBytes('POST', to, { authorization }, pointBody((n * 7919) % data.persons.length)),
      });
      for (const [status, count] of result.statusCounts)
        if (status !== 200) throw new Error(`${count} answers with status ${status}`);
      return result.requestsPerSecond;
    };
    const bearer = () => load(server.port, path, `Bearer ${token}`, windowMs);
    const withBasic = () => load(server.port, path, basic, windowMs);
    await load(server.port, path, basic, warmUpMs);
    const pairs: { readonly bearer: number; readonly basic: number }[] = [];
    for (let at = 0; at < rounds * pairsPerRound; at += 1) {
      // By turns one and the other comes first.
      if (at % 2 === 0) pairs.push({ bearer: await bearer(), basic: await withBasic() });
      else pairs.push({ basic: await withBasic(), bearer: await bearer() });
    }
    const floors = await alternate(
      {
        'empty fastify route': () => load(empty.port, '/point', basic),
        'bare node:http': () => load(plain.port, '/point', basic),
      },
      rounds,
    );
    const medians = new Map([
      ['bearer', median(pairs.map((pair) => pair.bearer))],
      ['basic', median(pairs.map((pair) => pair.basic))],
      ...floors,
    ]);
    const ratio = median(pairs.map((pair) => pair.bearer / pair.basic));
    return [
      {
        name: 'point query, bearer against Basic, 8 clients',
        medians,
        unit: 'requests/s',
        ratio,
        target: '>= 0.95',
        isReached: ratio >= 0.95,
        remarks: `median of ${pairs.length} pairs of windows of ${windowMs} ms`,
      },
    ];
  } finally {
    await stopChild(plain.child);
    await stopChild(empty.child);
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
}

function pointBody(id: number): string {
  return JSON.stringify({
    language: 'sql',
    command: 'SELECT name, age FROM Person WHERE id = :id',
    params: { id },
  });
}
