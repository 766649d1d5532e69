import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../support/server-process.ts';
import { startListening, stopChild } from '../child.ts';
import { generateLoad, requestBytes } from '../http-load.ts';
import { alternate, type Comparison } from '../measure.ts';
import type { SpineData } from '../spine/data.ts';
import { benchDatabase, uploadSpine } from '../spine/upload.ts';

const password = 'bench-password';

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
    const load = async (port: number, to: string, authorization: string): Promise<number> => {
      const result = await generateLoad({
        port,
        connections: 8,
        durationMs: 1500,
        request: (n) =>
          requestBytes('POST', to, { authorization }, pointBody((n * 7919) % data.persons.length)),
      });
      for (const [status, count] of result.statusCounts)
        if (status !== 200) throw new Error(`${count} answers with status ${status}`);
      return result.requestsPerSecond;
    };
    const medians = await alternate(
      {
        bearer: () => load(server.port, path, `Bearer ${token}`),
        basic: () => load(server.port, path, basic),
        'empty fastify route': () => load(empty.port, '/point', basic),
        'bare node:http': () => load(plain.port, '/point', basic),
      },
      rounds,
    );
    const ratio = (medians.get('bearer') ?? 0) / (medians.get('basic') ?? 1);
    return [
      {
        name: 'point query, bearer against Basic, 8 clients',
        medians,
        unit: 'requests/s',
        ratio,
        target: '>= 0.95',
        isReached: ratio >= 0.95,
        remarks: '',
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
