import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { embeddingOf, searchQueries, searchSchema, towns } from './search.ts';
import {
  dictionaryDirectory,
  pointerTypeNames,
  readSenses,
  readSynsets,
  type Synset,
} from './wordnet-files.ts';

// npm run demo: loads WordNet 3.1 through the public HTTP API of a server on this machine and prints queries to paste.
// POLYAD_URL (http://127.0.0.1:2480) and POLYAD_PASSWORD (config/root-password) say where and as whom.

const databaseName = 'wordnet';
const baseUrl = new URL(process.env['POLYAD_URL'] ?? 'http://127.0.0.1:2480');
const password = process.env['POLYAD_PASSWORD'] ?? storedPassword();
/** As it stands in lines to paste: never the password itself. */
const shownPassword =
  process.env['POLYAD_PASSWORD'] === undefined ? '$(cat config/root-password)' : '$POLYAD_PASSWORD';
const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;

function storedPassword(): string {
  const file = 'config/root-password';
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  process.stderr.write(`set POLYAD_PASSWORD to the root password (there is no ${file} here)\n`);
  process.exit(1);
}

async function post(path: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await asked(new URL(`/api/v1${path}`, baseUrl), {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

/** Ends with one sentence when there is no server. */
async function asked(url: URL, options: RequestInit): Promise<Response> {
  try {
    return await fetch(url, options);
  } catch {
    process.stderr.write(
      `no server answers at ${baseUrl.origin}: start one by npm start, or set POLYAD_URL\n`,
    );
    process.exit(1);
  }
}

async function sql(command: string): Promise<void> {
  await post(`/command/${databaseName}`, { language: 'sql', command });
}

const schema: readonly string[] = [
  'CREATE VERTEX TYPE Synset',
  'CREATE PROPERTY Synset.id STRING (mandatory true, notnull true)',
  'CREATE PROPERTY Synset.label STRING',
  'CREATE PROPERTY Synset.words LIST OF STRING',
  'CREATE PROPERTY Synset.gloss STRING',
  'CREATE INDEX ON Synset (id) UNIQUE',
  'CREATE INDEX ON Synset (label) NOTUNIQUE',
  ...searchSchema,
  'CREATE VERTEX TYPE Word',
  'CREATE PROPERTY Word.lemma STRING (mandatory true, notnull true)',
  'CREATE INDEX ON Word (lemma) UNIQUE',
  'CREATE EDGE TYPE HasSense',
  'CREATE EDGE TYPE Pointer',
  ...pointerTypeNames.map((name) => `CREATE EDGE TYPE ${name} EXTENDS Pointer`),
];

/** Vertices first, then edges; synsets are read once and their pointers kept for the second half. */
async function* batchLines(directory: string): AsyncGenerator<string> {
  for (const town of towns(townCount)) yield line(town);
  const synsets: Synset[] = [];
  const lemmas = new Set<string>();
  for await (const synset of readSynsets(directory)) {
    synsets.push(synset);
    yield line({
      '@type': 'v',
      '@class': 'Synset',
      '@id': synset.id,
      id: synset.id,
      pos: synset.pos,
      label: synset.words[0] ?? '',
      words: synset.words,
      gloss: synset.gloss,
      embedding: embeddingOf(synset.gloss),
      lexicalFile: synset.lexicalFile,
    });
  }
  const senses = [];
  for await (const sense of readSenses(directory)) {
    senses.push(sense);
    if (lemmas.has(sense.lemma)) continue;
    lemmas.add(sense.lemma);
    yield line({ '@type': 'v', '@class': 'Word', '@id': `w:${sense.lemma}`, lemma: sense.lemma });
  }
  for (const { key, lemma, synset, number, tagCount } of senses) {
    yield line({
      '@type': 'e',
      '@class': 'HasSense',
      '@from': `w:${lemma}`,
      '@to': synset,
      key,
      number,
      tagCount,
    });
  }
  for (const { id, pointers } of synsets) {
    for (const { type, target } of pointers) {
      yield line({ '@type': 'e', '@class': type, '@from': id, '@to': target });
    }
  }
}

function line(record: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(record)}\n`;
}

/** Lines joined to chunks of some 64 KB; the socket's back-pressure stops the reader. */
async function* chunks(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = '';
  for await (const text of lines) {
    chunk += text;
    if (chunk.length < 65_536) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

const townCount = 20_000;
const expectedRecords = townCount + 117_791 + 147_478 + 207_235 + 378_203;

/** Streams the body and shows the server's progress lines as a bar. @returns the summary line */
function load(directory: string): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const upload = request(
      new URL(`/api/v1/batch/${databaseName}?idMapping=false&commitEvery=100000`, baseUrl),
      {
        method: 'POST',
        headers: {
          authorization,
          'content-type': 'application/x-ndjson',
          accept: 'application/x-ndjson',
        },
      },
      (answer) => {
        let rest = '';
        answer.setEncoding('utf8');
        answer.on('data', (text: string) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop() ?? '';
          for (const event of lines.filter((one) => one !== '')) onEvent(event, resolve, reject);
        });
        answer.on('end', () =>
          reject(new Error(`the answer ended early (${answer.statusCode}): ${rest}`)),
        );
      },
    );
    upload.on('error', reject);
    Readable.from(chunks(batchLines(directory))).pipe(upload);
  });
}

function onEvent(
  text: string,
  resolve: (summary: Record<string, unknown>) => void,
  reject: (error: Error) => void,
): void {
  const event = JSON.parse(text) as Record<string, Record<string, unknown>>;
  const { progress, summary } = event;
  if (summary !== undefined) resolve(summary);
  else if (progress !== undefined) showProgress(Number(progress['linesRead']));
  else reject(new Error(text));
}

function showProgress(done: number): void {
  const width = 40;
  const share = Math.min(1, done / expectedRecords);
  const bar = '█'.repeat(Math.round(share * width)).padEnd(width, '░');
  const text = `${bar} ${Math.round(share * 100)} %  ${done.toLocaleString('en-US')} records`;
  process.stdout.write(process.stdout.isTTY ? `\r${text}` : `${text}\n`);
}

const queries: readonly string[] = [
  "SELECT label, gloss FROM Synset WHERE id = 'n02086723'",
  "MATCH {type: Word, where: (lemma = 'dog')}.outE('HasSense'){as: s}.inV(){as: y} RETURN s.number AS sense, y.label AS label, y.gloss AS gloss ORDER BY sense",
  "MATCH {type: Synset, where: (id = 'n02086723')}.out('Hypernym'){as: up, while: ($depth < 20), depthAlias: level} RETURN level, up.label AS label ORDER BY level",
  "SELECT label, in('Hypernym').size() AS kinds FROM Synset WHERE label LIKE 'musical%' ORDER BY kinds DESC LIMIT 10",
  "MATCH {type: Synset, where: (id = 'n02086723')}.out('MemberHolonym'){as: g}.in('MemberHolonym'){as: other} RETURN g.label AS memberOf, other.label AS other, other.gloss AS gloss ORDER BY memberOf, other LIMIT 20",
  ...searchQueries,
];

async function showQueries(): Promise<void> {
  const url = new URL(`/api/v1/query/${databaseName}`, baseUrl);
  process.stdout.write(`\n${queries.length} queries to paste (each timed here through HTTP):\n`);
  for (const command of queries) {
    await post(`/query/${databaseName}`, { language: 'sql', command });
    const start = performance.now();
    const answer = await post(`/query/${databaseName}`, { language: 'sql', command });
    const ms = (performance.now() - start).toFixed(1);
    const body = JSON.stringify({ language: 'sql', command }).replaceAll("'", "'\\''");
    process.stdout.write(
      `\n# ${(answer['result'] as unknown[]).length} rows in ${ms} ms\ncurl -s -u "root:${shownPassword}" ${url.href} -d '${body}'\n`,
    );
  }
  process.stdout.write(
    '\n(POLYAD_PASSWORD is in config/root-password after a first start in development.)\n',
  );
}

const exists = await asked(new URL(`/api/v1/exists/${databaseName}`, baseUrl), {
  headers: { authorization },
});
if (exists.status !== 200) {
  const reason = exists.status === 403 ? ': is POLYAD_PASSWORD the root password?' : '';
  process.stderr.write(`the server at ${baseUrl.origin} answered ${exists.status}${reason}\n`);
  process.exit(1);
}
const isLoaded = ((await exists.json()) as { result: boolean }).result;
if (isLoaded) {
  process.stdout.write(
    `database '${databaseName}' exists; 'drop database ${databaseName}' loads it anew\n`,
  );
} else {
  const start = performance.now();
  await post('/server', { command: `create database ${databaseName}` });
  for (const statement of schema) await sql(statement);
  const summary = await load(dictionaryDirectory());
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  process.stdout.write(
    `\n${summary['verticesCreated']} vertices and ${summary['edgesCreated']} edges in ${seconds} s\n`,
  );
}
await showQueries();
