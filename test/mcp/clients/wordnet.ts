import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { HttpClient, quickStart, startServer } from '../../support/server-process.ts';

// An agent that has never seen the WordNet demo answers five questions about it. It knows what the server tells it:
// instructions, prompts, tools, names of databases, types and indexes. README.md, "For agents", shows the same walk.

const password = 'wordnet-password';
const projectDirectory = resolve(import.meta.dirname, '../../..');

type Row = Readonly<Record<string, unknown>>;

/** A server with the demo loaded and tools that only read. */
async function startDemo(context: TestContext): Promise<number> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-wordnet-'));
  const server = await startServer({ rootPath, rootPassword: password, environment: quickStart });
  context.after(async () => {
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  });
  const demo = spawn(process.execPath, ['e2e/demo/wordnet.ts'], {
    cwd: projectDirectory,
    env: {
      ...process.env,
      POLYAD_URL: `http://127.0.0.1:${server.port}`,
      POLYAD_PASSWORD: password,
    },
    stdio: 'ignore',
  });
  assert.deepEqual(await once(demo, 'exit'), [0, null]);
  const root = new HttpClient(server.port, 'root', password);
  const configured = await root.request('POST', '/mcp/config', {
    enabled: true,
    allowReads: true,
    allowedUsers: ['root'],
    profile: 'rag',
  });
  assert.equal(configured.status, 200);
  return server.port;
}

async function connect(port: number): Promise<Client> {
  const authorization = `Basic ${Buffer.from(`root:${password}`).toString('base64')}`;
  const client = new Client({ name: 'reader', version: '1.0.0' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/api/v1/mcp`), {
      requestInit: { headers: { authorization } },
    }),
  );
  return client;
}

/** What a tool gives, parsed. */
async function ask(client: Client, name: string, given: Row = {}): Promise<Row> {
  const answer = await client.callTool({ name, arguments: given });
  const [first] = answer.content as readonly { readonly text: string }[];
  assert.equal(answer.isError, false, first?.text);
  return JSON.parse(first?.text ?? '') as Row;
}

function rowsOf(answer: Row, field: string): readonly Row[] {
  return answer[field] as readonly Row[];
}

function labelsOf(answer: Row): readonly unknown[] {
  return rowsOf(answer, 'results').map(({ properties }) => (properties as Row)['label']);
}

test('an agent finds its way through WordNet and answers five questions', async (context) => {
  const client = await connect(await startDemo(context));
  context.after(() => client.close());
  const named = new Set((client.getInstructions() ?? '').match(/\b[a-z]+(_[a-z]+)+\b/g));
  const tools = new Set((await client.listTools()).tools.map(({ name }) => name));
  for (const name of ['list_databases', 'get_schema', 'vector_search', 'full_text_search'])
    assert.ok(named.has(name) && tools.has(name), name);
  const [database] = (await ask(client, 'list_databases'))['databases'] as readonly string[];
  assert.equal(database, 'wordnet');
  const prompt = await client.getPrompt({
    name: 'graphrag_query',
    arguments: { database, question: 'Which dogs herd sheep?' },
  });
  assert.match(JSON.stringify(prompt.messages), /Which dogs herd sheep\?/);

  // The names of the schema are all that the statements below are made of.
  const types = rowsOf(await ask(client, 'get_schema', { database }), 'types');
  const typeOf = (name: string) => types.find((type) => type['name'] === name);
  for (const name of ['Synset', 'Word', 'HasSense', 'Hypernym']) assert.ok(typeOf(name), name);
  const indexes = JSON.stringify(typeOf('Synset')?.['indexes']);
  for (const kind of ['FULL_TEXT', 'LSM_VECTOR']) assert.match(indexes, new RegExp(kind));
  const query = async (language: string, text: string) =>
    rowsOf(await ask(client, 'query', { database, language, query: text }), 'records');

  // 1. How many meanings has "dog", and which is the first as a noun?
  const senses = await query(
    'cypher',
    "MATCH (:Word {lemma: 'dog'})-[s:HasSense]->(y:Synset) RETURN s.number AS number, y.pos AS pos, y.id AS id ORDER BY number, pos",
  );
  assert.equal(senses.length, 8);
  const dog = senses[0]?.['id'];
  assert.equal(dog, 'n02086723');

  // 2. What is a dog, step by step?
  const [way] = await query(
    'cypher',
    `MATCH p = (:Synset {id: '${dog}'})-[:Hypernym*1..20]->(top:Synset) WHERE NOT (top)-[:Hypernym]->() RETURN [x IN nodes(p) | x.label] AS way ORDER BY length(p) LIMIT 1`,
  );
  const steps = (way?.['way'] ?? []) as readonly string[];
  assert.deepEqual([steps.at(1), steps.at(-1)], ['domestic animal', 'entity']);

  // 3. Which dogs herd sheep?
  const herding = await ask(client, 'full_text_search', {
    database,
    typeName: 'Synset',
    queryText: '+dog +sheep herd*',
    limit: 5,
  });
  assert.ok(labelsOf(herding).includes('shepherd dog'), JSON.stringify(labelsOf(herding)));

  // 4. What is described most like a dog?
  const [vector] = await query('sql', `SELECT embedding FROM Synset WHERE id = '${dog}'`);
  const near = await ask(client, 'vector_search', {
    database,
    indexName: 'Synset[embedding]',
    queryVector: vector?.['embedding'],
    k: 5,
  });
  assert.equal(labelsOf(near)[0], 'dog');
  assert.equal(near['count'], 5);

  // 5. Which small dogs are there, and what are they kinds of?
  const fused = await ask(client, 'hybrid_search', {
    database,
    vectorIndexName: 'Synset[embedding]',
    queryVector: vector?.['embedding'],
    k: 10,
    fulltextIndexName: 'Synset[gloss]',
    fulltextQuery: '+small +dog',
    expand: { edgeTypes: ['Hypernym'] },
  });
  assert.deepEqual(Object.keys(fused['legs'] as Row).toSorted(), ['expand', 'fulltext', 'vector']);
  const small = rowsOf(fused, 'results').filter(({ sources }) =>
    (sources as readonly string[]).includes('fulltext'),
  );
  assert.ok(small.length > 0);
  for (const { properties } of small) assert.match(String((properties as Row)['gloss']), /small/);
});
