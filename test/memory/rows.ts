import type { HttpClient } from '../support/server-process.ts';

export const databaseName = 'memory';
export const rowCount = 300_000;

/** Some 200 bytes a row: a unique name, a number in random order, a group of a thousand, text. */
export async function loadRows(client: HttpClient, port: number): Promise<void> {
  await client.server(`create database ${databaseName}`);
  for (const statement of [
    'CREATE VERTEX TYPE T',
    'CREATE PROPERTY T.x INTEGER',
    'CREATE PROPERTY T.name STRING',
    'CREATE PROPERTY T.grp INTEGER',
    'CREATE PROPERTY T.text STRING',
  ])
    await client.sql(databaseName, statement);
  const batch = 20_000;
  for (let from = 0; from < rowCount; from += batch) {
    let body = '';
    for (let n = from; n < from + batch; n += 1) body += `${JSON.stringify(row(n))}\n`;
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/batch/${databaseName}`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from('root:memory-test').toString('base64')}`,
        'content-type': 'application/x-ndjson',
      },
      body,
    });
    if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}

function row(n: number): Readonly<Record<string, unknown>> {
  const x = (n * 7_919) % rowCount;
  return {
    '@type': 'v',
    '@class': 'T',
    x,
    name: `name of row ${(x * 31) % rowCount}`,
    grp: n % 1000,
    text: `${n}`.padEnd(140, 'the quick brown fox '),
  };
}
