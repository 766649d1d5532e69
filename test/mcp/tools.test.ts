import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Json, startMcp } from './mcp-fixture.ts';

// The tools over a real database (contract 2, Tools; mcp.md 4).

const everything = {
  allowInsert: true,
  allowUpdate: true,
  allowDelete: true,
  allowSchemaChange: true,
  allowAdmin: true,
};

test('statements are judged by what they do, flag by flag', async (context) => {
  const { tool, configure } = await startMcp(context);
  await configure(everything);
  const run = (command: string, language = 'sql') =>
    tool('execute_command', { database: 'test', language, command });
  assert.equal((await run('CREATE VERTEX TYPE P')).isError, false);
  const flags: readonly (readonly [string, string, string])[] = [
    ['allowInsert', 'INSERT INTO P SET a = 1 /* SELECT */', 'Insert operations'],
    ['allowUpdate', 'UPDATE P SET a = 2', 'Update operations'],
    ['allowDelete', "DELETE FROM P WHERE a = 'UPDATE'", 'Delete operations'],
    ['allowSchemaChange', 'CREATE DOCUMENT TYPE Q', 'Schema change operations'],
    ['allowAdmin', 'ALTER DATABASE dateFormat "yyyy"', 'Admin operations'],
  ];
  for (const [flag, statement, words] of flags) {
    await configure({ [flag]: false });
    const refused = await run(statement);
    assert.deepEqual(
      [refused.isError, refused.text],
      [true, `${words} are not allowed by MCP configuration`],
    );
    await configure({ [flag]: true, databases: { test: { [flag]: false } } });
    assert.equal((await run(statement)).isError, true, flag);
    await configure({ databases: null });
    const done = await run(statement);
    assert.equal(done.isError, false, done.text);
  }
  await configure({ allowInsert: false });
  const script = 'SELECT 1; BEGIN; INSERT INTO P SET a = 9; COMMIT; RETURN 1';
  assert.equal((await run(script, 'sqlscript')).isError, true);
  assert.equal((await run('SET k 1', 'redis')).isError, true);
  const counted = await tool('query', {
    database: 'test',
    language: 'sql',
    query: 'SELECT count(*) AS n FROM P WHERE a = 9',
  });
  assert.deepEqual(counted.json['records'], [{ n: 0 }]);
});

test('EXPLAIN and PROFILE tell the plan', async (context) => {
  const { tool, configure } = await startMcp(context);
  await configure(everything);
  const about = { database: 'test', language: 'sql' };
  await tool('execute_command', { ...about, command: 'CREATE DOCUMENT TYPE P' });
  const explained = await tool('query', { ...about, query: 'EXPLAIN SELECT FROM P' });
  assert.match(String(explained.json['explain']), /P/);
  assert.equal((explained.json['explainPlan'] as Json)['type'], 'QueryExecutionPlan');
  const profiled = await tool('execute_command', { ...about, command: 'PROFILE SELECT FROM P' });
  assert.ok(((profiled.json['explainPlan'] as Json)['cost'] as number) >= 0);
});

test('query refuses what writes, in every language', async (context) => {
  const { tool, configure } = await startMcp(context);
  await configure(everything);
  for (const [language, query] of [
    ['sql', 'CREATE VERTEX TYPE P'],
    ['sqlscript', 'LET $a = 1; INSERT INTO P SET a = 1'],
    ['redis', 'GET a\nSET k 1'],
  ]) {
    const { isError, text } = await tool('query', { database: 'test', language, query });
    assert.equal(isError, true);
    assert.equal(
      text,
      'Query contains write operations. Use execute_command tool instead of query tool',
    );
  }
});

test('limits are refused outside their bounds', async (context) => {
  const { tool } = await startMcp(context);
  const given = { database: 'test', language: 'sql', query: 'SELECT expand([1, 2, 3])' };
  assert.equal((await tool('query', { ...given, limit: 1 })).json['count'], 1);
  assert.equal((await tool('query', given)).json['count'], 3);
  for (const limit of [0, -1, 100_001, 1.5, '5']) {
    const { isError, text } = await tool('query', { ...given, limit });
    assert.ok(isError && text.includes("'limit'"), text);
  }
  for (const missing of ['database', 'language', 'query']) {
    const { text } = await tool('query', { ...given, [missing]: undefined });
    assert.equal(text, `'${missing}' is required`);
  }
});

test('upserts keep one vertex and one edge, whoever calls how often', async (context) => {
  const { tool, configure, data } = await startMcp(context);
  await configure({ allowInsert: true, allowUpdate: true });
  const ada = { database: 'test', typeName: 'Person', matchKeys: { name: 'Ada' } };
  const first = await tool('upsert_entity', { ...ada, setProperties: { born: 1815 } });
  const again = await tool('upsert_entity', { ...ada, setProperties: { died: 1852 } });
  const [made] = first.json['records'] as Json[];
  const [found] = again.json['records'] as Json[];
  assert.equal(made?.['@rid'], found?.['@rid']);
  assert.deepEqual([found?.['born'], found?.['died']], [1815, 1852]);
  const knows = {
    database: 'test',
    fromType: 'Person',
    fromMatchKeys: { name: 'Ada' },
    toType: 'Person',
    toMatchKeys: { name: 'Bob' },
    relType: 'Knows',
  };
  const edge = await tool('upsert_relationship', knows);
  const same = await tool('upsert_relationship', { ...knows, relProperties: { since: 1830 } });
  const [one] = edge.json['records'] as Json[];
  const [other] = same.json['records'] as Json[];
  assert.equal(one?.['@rid'], other?.['@rid']);
  assert.equal(other?.['since'], 1830);
  const self = await tool('upsert_relationship', { ...knows, toMatchKeys: { name: 'Ada' } });
  assert.equal(self.isError, false, self.text);
  for (const matchKeys of [{}, { name: null }, { name: [1] }])
    assert.equal((await tool('upsert_entity', { ...ada, matchKeys })).isError, true);
  assert.equal((await tool('upsert_entity', { ...ada, typeName: 'a`b' })).isError, true);
  for (const name of ['@rid', '@type', 'a`b', ''])
    for (const given of [{ setProperties: { [name]: 1 } }, { matchKeys: { [name]: '#1:0' } }])
      assert.equal((await tool('upsert_entity', { ...ada, ...given })).isError, true, name);
  assert.equal((await tool('upsert_entity', { ...ada, typeName: 'Knows' })).isError, true);
  await data.run('CREATE PROPERTY Person.name STRING');
  await data.run('CREATE INDEX ON Person (name) UNIQUE');
  const racers = Array.from({ length: 20 }, (_, n) =>
    tool('upsert_entity', { ...ada, matchKeys: { name: 'Cy' }, setProperties: { n } }),
  );
  const rids = (await Promise.all(racers)).map(
    ({ json, text }) => (json['records'] as Json[] | undefined)?.[0]?.['@rid'] ?? text,
  );
  assert.equal(new Set(rids).size, 1, String(rids));
});

test('calls at once that look for the same vertices make each once, without any index', async (context) => {
  const { tool, configure, data } = await startMcp(context);
  await configure({ allowInsert: true, allowUpdate: true });
  const firstOf = ({ json, text }: { json: Json; text: string }) =>
    (json['records'] as Json[] | undefined)?.[0]?.['@rid'] ?? text;
  const entities = Array.from({ length: 20 }, (_, n) => {
    const matchKeys = n % 2 === 0 ? { a: 1, b: 'x' } : { b: 'x', a: 1 };
    const given = { database: 'test', typeName: 'Loose', matchKeys, setProperties: { n } };
    return tool('upsert_entity', given);
  });
  assert.equal(new Set((await Promise.all(entities)).map(firstOf)).size, 1);
  const ends = [{ k: 1 }, { k: 2 }] as const;
  const edges = Array.from({ length: 20 }, (_, n) => {
    const given = { fromType: 'Stop', toType: 'Stop', relType: 'Leads', relProperties: { n } };
    const [fromMatchKeys, toMatchKeys] = n % 2 === 0 ? ends : ends.toReversed();
    return tool('upsert_relationship', { database: 'test', ...given, fromMatchKeys, toMatchKeys });
  });
  assert.equal(new Set((await Promise.all(edges)).map(firstOf)).size, 2);
  const counted = async (type: string) => (await data.run(`SELECT count(*) AS n FROM ${type}`))[0];
  assert.deepEqual([await counted('Stop'), await counted('Leads')], [{ n: 2 }, { n: 2 }]);
});

test('match keys of different kinds are different vertices', async (context) => {
  const { tool, configure, data } = await startMcp(context);
  await configure({ allowInsert: true, allowUpdate: true });
  const idOf = async (k: unknown, typeName = 'Thing') => {
    const given = { database: 'test', typeName, matchKeys: { k } };
    const { json, text } = await tool('upsert_entity', given);
    return (json['records'] as Json[] | undefined)?.[0]?.['@rid'] ?? text;
  };
  // SQL takes some of these for equal.
  const kinds = [true, false, 7, '7', 1, '1', 'true', 0, '', 1.5, '1.5', 'Ada', ' 7', '1e1', 10];
  const ids: unknown[] = [];
  for (const k of kinds) ids.push(await idOf(k));
  assert.equal(new Set(ids).size, kinds.length, String(ids));
  for (const [at, k] of kinds.entries()) assert.equal(await idOf(k), ids[at], JSON.stringify(k));
  // What a declared type makes one value of stays one.
  await data.run('CREATE VERTEX TYPE Base');
  await data.run('CREATE PROPERTY Base.k LONG');
  await data.run('CREATE VERTEX TYPE Sub EXTENDS Base');
  assert.equal(await idOf('5', 'Sub'), await idOf(5, 'Sub'));
});

test('a file of the server is read with allowAdmin alone, by query too', async (context) => {
  const { tool, configure } = await startMcp(context);
  const folder = mkdtempSync(join(tmpdir(), 'polyad-mcp-csv-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'a.csv'), 'a\nb\n');
  const text = `LOAD CSV FROM 'file://${folder}/a.csv' AS row RETURN row`;
  const refused = 'Admin operations are not allowed by MCP configuration';
  const calls = [
    ['query', { query: text }],
    ['execute_command', { command: text }],
  ] as const;
  const saidTo = async () => {
    const said: unknown[] = [];
    for (const [name, given] of calls) {
      const asked = { database: 'test', language: 'cypher', ...given };
      const { isError, text: message, json } = await tool(name, asked);
      said.push(isError ? message : json['count']);
    }
    return said;
  };
  assert.deepEqual(await saidTo(), [refused, refused]);
  await configure({ allowAdmin: true });
  assert.deepEqual(await saidTo(), [2, 2]);
  await configure({ databases: { test: { allowAdmin: false } } });
  assert.deepEqual(await saidTo(), [refused, refused]);
});

test('samples, schema, status and settings', async (context) => {
  const { tool, data, configure } = await startMcp(context);
  await data.run('CREATE VERTEX TYPE A');
  await data.run('CREATE PROPERTY A.name STRING (mandatory true, max 80)');
  await data.run('CREATE EDGE TYPE E');
  await data.run("CREATE VERTEX A SET name = 'x'");
  const samples = await tool('sample_records', { database: 'test' });
  assert.deepEqual(
    [samples.json['sampledTypes'], samples.json['availableTypes'], samples.json['truncated']],
    [1, 1, false],
  );
  assert.equal(
    (await tool('sample_records', { database: 'test', types: ['E', 'E'] })).json['sampledTypes'],
    1,
  );
  assert.equal((await tool('sample_records', { database: 'test', types: ['Nope'] })).isError, true);
  assert.equal((await tool('sample_records', { database: 'test', limit: 21 })).isError, true);
  const schema = await tool('get_schema', { database: 'test' });
  const [type] = schema.json['types'] as Json[];
  assert.deepEqual(type?.['properties'], [
    { name: 'name', type: 'STRING', mandatory: true, readonly: false, notNull: false, max: '80' },
  ]);
  assert.deepEqual((await tool('list_databases')).json, { databases: ['test'] });
  assert.deepEqual((await tool('server_status')).json['databases'], ['test']);
  const { settings } = (await tool('get_server_settings')).json as { settings: Json[] };
  const secret = settings.find(({ key }) => key === 'service.server.rootPassword');
  assert.equal(secret?.['value'], '*****');
  const change = { key: 'server.httpQueryDefaultLimit', value: '1000' };
  assert.equal((await tool('set_server_setting', change)).isError, true);
  await configure({ allowAdmin: true });
  assert.deepEqual((await tool('set_server_setting', change)).json['newValue'], '1000');
  assert.equal(
    (await tool('set_server_setting', { key: 'nope', value: '1' })).text,
    'Unknown server setting: nope',
  );
  assert.equal((await tool('profiler_stop')).json['status'], 'not_recording');
  assert.equal((await tool('profiler_start', { timeoutSeconds: 0 })).isError, true);
  assert.equal((await tool('profiler_start', {})).json['status'], 'started');
  assert.equal((await tool('profiler_start', {})).json['status'], 'already_recording');
  assert.equal((await tool('profiler_stop')).json['status'], 'stopped');
});

test('calls are written down, shortened, and a budget names its setting', async (context) => {
  const { tool, data, door, configure } = await startMcp(context);
  await data.run('CREATE VERTEX TYPE A');
  for (let n = 0; n < 3; n++) await data.run(`CREATE VERTEX A SET n = ${n}`);
  const statement = { database: 'test', language: 'sql', query: 'SELECT FROM A' };
  await tool('query', statement);
  const lines = () => door.logged.map(({ message }) => message).filter((m) => m.startsWith('MCP'));
  assert.deepEqual(lines(), [
    "MCP http: user 'root' called query(database=test, language=sql, query=SELECT FROM A): ok, 3 records",
  ]);
  await tool('vector_search', { database: 'x'.repeat(200), queryVector: [1, 2, 3] });
  assert.ok((lines().at(-1)?.length ?? 0) < 200);
  const unknown = await tool('set_server_setting', { key: 'x'.repeat(5000), value: '1' });
  assert.equal(unknown.isError, true);
  const { message = '' } =
    door.events.recent().find((event) => /set_server/.test(event.message)) ?? {};
  assert.ok(
    message.length > 100 && message.length < 300,
    'a key is shortened as all arguments are',
  );
  await configure({ allowAdmin: true });
  await tool('set_server_setting', { key: 'service.mcp.maxRowsPerMinute', value: '4' });
  const [written] = door.events.recent().filter(({ message }) => message.includes('set_server'));
  assert.equal(written?.component, 'Security');
  for (const refused of [false, false, true]) {
    const { isError, text } = await tool('query', statement);
    assert.deepEqual([isError, /service\.mcp\.maxRowsPerMinute/.test(text)], [refused, refused]);
  }
});

test('statements are offered in the languages that the server has', async (context) => {
  const { rpc, tool } = await startMcp(context);
  const { languages } = (await tool('server_status')).json;
  const { tools } = (await rpc('tools/list'))['result'] as {
    tools: readonly { name: string; inputSchema: { properties: { language?: { enum: Json } } } }[];
  };
  const offered = tools.flatMap(({ name, inputSchema: { properties } }) =>
    properties.language === undefined ? [] : [[name, properties.language.enum]],
  );
  assert.deepEqual(offered, [
    ['query', languages],
    ['execute_command', languages],
  ]);
});
