import { connect, type Socket } from 'node:net';
import type { HttpClient } from '../support/server-process.ts';

/*
 * What nobody should send to the doors of agents and keys, and the largest that limits allow: bodies, batches, filters, vectors and
 * prompts of the tool server, lengths, pipelines and texts of the wire and of language `redis`.
 */

/** One thing to do at a door. */
export interface AgentCase {
  readonly name: string;
  /** @returns what came of it, shortly */
  readonly run: () => Promise<string>;
}

export interface AgentDoors {
  readonly port: number;
  readonly wirePort: number;
  readonly password: string;
  readonly client: HttpClient;
}

const dimensions = 64;
const recordCount = 5_000;
const database = 'agents';

/** A database to search, with the tool server enabled. */
export async function prepareAgents({ client }: AgentDoors): Promise<void> {
  await client.server(`create database ${database}`);
  const flags = { allowInsert: true, allowUpdate: true, allowDelete: true };
  await client.request('POST', '/mcp/config', { enabled: true, allowedUsers: ['root'], ...flags });
  for (const text of [
    'CREATE VERTEX TYPE Doc',
    'CREATE PROPERTY Doc.dense ARRAY_OF_FLOATS',
    'CREATE PROPERTY Doc.text STRING',
    'CREATE PROPERTY Doc.id INTEGER',
    'CREATE INDEX ON Doc (id) UNIQUE',
    `CREATE INDEX ON Doc (dense) LSM_VECTOR METADATA {"dimensions": ${dimensions}}`,
    'CREATE INDEX ON Doc (text) FULL_TEXT',
    'CREATE EDGE TYPE Near',
    'CREATE VERTEX TYPE Wide',
  ])
    await client.sql(database, text);
  for (let at = 0; at < recordCount; at += 500) {
    const rows = Array.from({ length: 500 }, (_, i) => ({
      id: at + i,
      dense: vector(at + i),
      text: `word${(at + i) % 50} fox jumps over ${at + i}`,
    }));
    await client.sql(database, 'INSERT INTO Doc CONTENT :rows', { rows });
  }
}

function vector(seed: number): readonly number[] {
  return Array.from({ length: dimensions }, (_, i) => Math.sin(seed * 31 + i));
}

export function agentCases(doors: AgentDoors): readonly AgentCase[] {
  return [
    ...bodies(doors),
    ...searches(doors),
    ...tools(doors),
    ...texts(doors),
    ...lengths(doors),
    ...commands(doors),
    ...crowds(doors),
  ];
}

// --- the tool server

type Case = readonly [name: string, run: () => Promise<string>];

function named(cases: readonly Case[]): readonly AgentCase[] {
  return cases.map(([name, run]) => ({ name, run }));
}

function postTo({ port, password }: AgentDoors, path: string) {
  return async (body: string | Uint8Array): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}` },
      body: Buffer.from(body as string),
    }).catch((error: unknown) => String(error));
    if (typeof answer === 'string') return answer.slice(0, 60);
    return `${answer.status} ${(await answer.text()).slice(0, 90)}`;
  };
}

const mebibyte = 2 ** 20;

function bodies(doors: AgentDoors): readonly AgentCase[] {
  const post = postTo(doors, 'mcp');
  const ping = (params: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${params}}}`;
  const pings = (count: number) =>
    JSON.stringify(
      Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })),
    );
  const invalid = Buffer.alloc(20 * mebibyte, 0x61);
  invalid[invalid.length - 1] = 0xff;
  return named([
    ['body of 101 MiB', () => post(Buffer.alloc(101 * mebibyte, 0x20))],
    ['body of 99 MiB of blanks', () => post(Buffer.alloc(99 * mebibyte, 0x20))],
    ['text of 60 MiB', () => post(ping(`"${'x'.repeat(60 * mebibyte)}"`))],
    ['text of 20 MiB of escapes', () => post(ping(`"${'\\u00e9'.repeat(3 * mebibyte)}"`))],
    ['list of 2,000,000 numbers', () => post(ping(`[${'1.5,'.repeat(2_000_000)}1]`))],
    ['200,000 small objects', () => post(ping(`[${'{"a":1},'.repeat(200_000)}{}]`))],
    ['one name 500,000 times', () => post(ping(`{${'"a":1,'.repeat(500_000)}"a":1}`))],
    ['200,000 names', () => post(ping(`{${manyNames(200_000)}}`))],
    ['invalid UTF-8 after 20 MiB', () => post(invalid)],
    ['nested 10,000 times', () => post(ping('['.repeat(10_000) + ']'.repeat(10_000)))],
    ['nested 10,000,000 times', () => post('['.repeat(10_000_000))],
    ['batch of 100', () => post(pings(100))],
    ['batch of 101', () => post(pings(101))],
    ['batch of 200,000', () => post(pings(200_000))],
    [
      'an id of 1,000,000 digits',
      () => post(`{"jsonrpc":"2.0","id":${'9'.repeat(1_000_000)},"method":"ping"}`),
    ],
    [
      'an id of 20 MiB',
      () => post(`{"jsonrpc":"2.0","id":"${'i'.repeat(20 * mebibyte)}","method":"ping"}`),
    ],
    [
      'a method of 20 MiB',
      () => post(`{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(20 * mebibyte)}"}`),
    ],
  ]);
}

function manyNames(count: number): string {
  return Array.from({ length: count }, (_, i) => `"n${i}":${i}`).join(',');
}

function requestTo(doors: AgentDoors) {
  const post = postTo(doors, 'mcp');
  return (method: string, params: unknown) =>
    post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
}

function callTo(doors: AgentDoors) {
  const request = requestTo(doors);
  return (name: string, given: object) =>
    request('tools/call', { name, arguments: { database, ...given } });
}

function searches(doors: AgentDoors): readonly AgentCase[] {
  const call = callTo(doors);
  const dense = { indexName: 'Doc[dense]', queryVector: vector(1), k: 1_000 };
  const hybrid = { vectorIndexName: 'Doc[dense]', queryVector: vector(1), k: 1_000 };
  const words = { fulltextIndexName: 'Doc[text]', fulltextQuery: 'fox' };
  const sum = (count: number) => `id >= ${'0+'.repeat(count)}0`;
  return named([
    ['vector_search, k 1,000', () => call('vector_search', dense)],
    ['... filtered', () => call('vector_search', { ...dense, filter: "text LIKE '%1%'" })],
    [
      '... filter of 4,096 characters',
      () => call('vector_search', { ...dense, filter: sum(2_040) }),
    ],
    [
      '... filter nested 1,000 times',
      () =>
        call('vector_search', { ...dense, filter: `${'('.repeat(1_000)}true${')'.repeat(1_000)}` }),
    ],
    [
      '... filter of 5,000 characters',
      () => call('vector_search', { ...dense, filter: 'x'.repeat(5_000) }),
    ],
    [
      '... 65,535 dimensions',
      () =>
        call('vector_search', { ...dense, queryVector: Array.from({ length: 65_535 }, () => 0.5) }),
    ],
    [
      '... 1,000,000 dimensions',
      () =>
        call('vector_search', {
          ...dense,
          queryVector: Array.from({ length: 1_000_000 }, () => 0.5),
        }),
    ],
    [
      'full_text_search, 1,000 of 5,000',
      () => call('full_text_search', { indexName: 'Doc[text]', queryText: 'fox', limit: 1_000 }),
    ],
    [
      '... of 10,000 words',
      () => call('full_text_search', { indexName: 'Doc[text]', queryText: 'fox '.repeat(10_000) }),
    ],
    [
      '... fuzzy words',
      () => call('full_text_search', { indexName: 'Doc[text]', queryText: 'wxrd1~ jomps~ fux~' }),
    ],
    [
      '... nested 10,000 times',
      () => call('full_text_search', { indexName: 'Doc[text]', queryText: '('.repeat(10_000) }),
    ],
    [
      'hybrid_search, three legs, k 1,000',
      () =>
        call('hybrid_search', { ...hybrid, ...words, expand: { maxDepth: 3, direction: 'both' } }),
    ],
    ['... LINEAR', () => call('hybrid_search', { ...hybrid, ...words, fusionStrategy: 'LINEAR' })],
  ]);
}

function tools(doors: AgentDoors): readonly AgentCase[] {
  const request = requestTo(doors);
  const call = callTo(doors);
  return named([
    [
      'upsert_entity with 20,000 properties',
      () =>
        call('upsert_entity', {
          typeName: 'Wide',
          matchKeys: { id: 1 },
          setProperties: JSON.parse(`{${manyNames(20_000)}}`) as object,
        }),
    ],
    [
      'upsert_entity with 2,000 keys',
      () =>
        call('upsert_entity', {
          typeName: 'Wide',
          matchKeys: JSON.parse(`{${manyNames(2_000)}}`) as object,
        }),
    ],
    [
      'upsert_entity, a name of 257',
      () => call('upsert_entity', { typeName: 'x'.repeat(257), matchKeys: { id: 1 } }),
    ],
    [
      'sample_records of 100,000 types',
      () => call('sample_records', { types: Array.from({ length: 100_000 }, (_, i) => `t${i}`) }),
    ],
    [
      'query of 100,000 rows',
      () =>
        call('query', {
          language: 'cypher',
          query: 'UNWIND range(1, 100000) AS n RETURN n',
          limit: 100_000,
        }),
    ],
    [
      'query of all records',
      () => call('query', { language: 'sql', query: 'SELECT FROM Doc', limit: 100_000 }),
    ],
    [
      'prompt of 10 MiB with a delimiter',
      () =>
        request('prompts/get', {
          name: 'build_knowledge_graph',
          arguments: { database, sourceText: '</Source_Text>{{database}}'.repeat(400_000) },
        }),
    ],
    [
      'resources/read of 20 MiB',
      () => request('resources/read', { uri: `service://${'%61'.repeat(7_000_000)}/schema` }),
    ],
  ]);
}

// --- language redis

function texts(doors: AgentDoors): readonly AgentCase[] {
  const post = postTo(doors, `command/${database}`);
  const redis = (command: string) => post(JSON.stringify({ language: 'redis', command }));
  const fields = (count: number) =>
    Array.from({ length: count }, (_, i) => `n${i}:'v"${i}'`).join(',');
  return named([
    ['redis: 300,000 lines', () => redis('GET a\n'.repeat(300_000))],
    ['redis: 100,000 increments in MULTI', () => redis(`MULTI\n${'INCR n\n'.repeat(100_000)}EXEC`)],
    ['redis: 1,900,000 comments', () => redis(`${'#\n'.repeat(1_900_000)}PING`)],
    ['redis: EXISTS of 1,000,000 keys', () => redis(`EXISTS${' a'.repeat(1_000_000)}`)],
    [
      'redis: braces nested 1,000,000 times',
      () => redis(`HSET Doc ${'{"a":'.repeat(500_000)}1${'}'.repeat(500_000)}`),
    ],
    ['redis: an object of 150,000 bare keys', () => redis(`HSET Doc {${fields(150_000)}}`)],
    ['redis: an object that is none', () => redis(`HSET Doc {${'a '.repeat(1_500_000)}}`)],
    ['redis: quotes that never end', () => redis(`SET k "${'\\x4'.repeat(1_000_000)}`)],
    ['redis: HMGET of 100,000 keys', () => redis(`HMGET Doc[id]${' 7'.repeat(100_000)}`)],
    ['redis: HSET of 20,000 records', () => redis(`HSET Wide${' {"a":1}'.repeat(20_000)}`)],
    ['redis: brackets in an address', () => redis(`HGET Doc${'['.repeat(1_000_000)} 1`)],
    [
      'redis: an address of 500,000 properties',
      () => redis(`HGET Doc[${'a,'.repeat(500_000)}a] 1`),
    ],
  ]);
}

// --- the wire

/** An array of bulk strings. */
function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}

function loginOf({ password }: AgentDoors): string {
  return encode(['AUTH', 'root', password]) + encode(['SELECT', database]);
}

async function open({ wirePort }: AgentDoors): Promise<Socket> {
  const socket = connect(wirePort, '127.0.0.1');
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

/** Sends, and reads until the last reply (of PING) is there or the server hangs up. */
function sayTo(doors: AgentDoors) {
  return async (bytes: string): Promise<string> => {
    const socket = await open(doors);
    let last = '';
    let received = 0;
    const over = new Promise<void>((resolve) => {
      socket.on('close', () => resolve());
      socket.on('data', (chunk) => {
        received += chunk.length;
        last = (last + chunk.toString('latin1', Math.max(0, chunk.length - 100))).slice(-100);
        if (last.endsWith('+PONG\r\n')) resolve();
      });
    });
    socket.write(loginOf(doors));
    socket.write(bytes, 'latin1');
    socket.write(encode(['PING']));
    await over;
    socket.destroy();
    return `${received} bytes ${JSON.stringify(last.slice(-60, -7))}`;
  };
}

function lengths(doors: AgentDoors): readonly AgentCase[] {
  const say = sayTo(doors);
  const repeated = (request: string, count: number) => say(request.repeat(count));
  return named([
    ['wire: *2147483647', () => say('*2147483647\r\n')],
    ['wire: $536870913', () => say('*1\r\n$536870913\r\n')],
    ['wire: nested 100,000 times', () => say('*1\r\n'.repeat(100_000))],
    ['wire: a length of 65 characters', () => say(`*${'1'.repeat(65)}`)],
    ['wire: a null bulk string', () => say('*2\r\n$3\r\nGET\r\n$-1\r\n')],
    ['wire: *0 1,000,000 times', () => repeated('*0\r\n', 1_000_000)],
    ['wire: empty lines, 2,000,000', () => repeated('\r\n', 2_000_000)],
    [
      'wire: an inline command of 64 KiB',
      () => repeated(`SET k "${'\\x41'.repeat(16_000)}"\r\n`, 50),
    ],
  ]);
}

function commands(doors: AgentDoors): readonly AgentCase[] {
  const say = sayTo(doors);
  const repeated = (request: string, count: number) => say(request.repeat(count));
  const long = (count: number, command: string) =>
    encode([command, ...Array.from({ length: count }, (_, i) => `key${i}`)]);
  const hashes = (count: number) =>
    Array.from({ length: count }, (_, i) => encode(['SET', `key${i}`, 'v'])).join('');
  return named([
    ['wire: 1,000,000 GET in a pipeline', () => repeated(encode(['GET', 'nothing']), 1_000_000)],
    ['wire: 300,000 HGET in a pipeline', () => repeated(encode(['HGET', 'Doc[id]', '7']), 300_000)],
    ['wire: 500,000 keys are set', () => say(hashes(500_000))],
    ['wire: a request of 1,000,000 words', () => say(long(1_000_000, 'EXISTS'))],
    [
      'wire: HMGET of 100,000 keys',
      () => say(encode(['HMGET', 'Doc[id]', ...Array.from({ length: 100_000 }, () => '7')])),
    ],
    ['wire: WATCH of 20,000 keys', () => say(long(20_000, 'WATCH'))],
    ['wire: KEYS with a hostile pattern', () => say(encode(['KEYS', `${'*a'.repeat(200)}b`]))],
    ['wire: KEYS of 500,000', () => say(encode(['KEYS', '*']))],
    ['wire: SCAN, COUNT 10,000', () => repeated(encode(['SCAN', '0', 'COUNT', '1000000']), 20)],
    [
      'wire: MULTI of 200,000, EXEC',
      () => say(encode(['MULTI']) + encode(['INCR', 'm']).repeat(200_000) + encode(['EXEC'])),
    ],
    [
      'wire: MULTI of 20,000 records, EXEC',
      () =>
        say(
          encode(['MULTI']) + encode(['HSET', 'Wide', '{"a":1}']).repeat(20_000) + encode(['EXEC']),
        ),
    ],
    ['wire: DEL of 500,000 keys', () => say(long(500_000, 'DEL'))],
    [
      'wire: a value of 48 MiB',
      () => say(encode(['SET', 'big', 'x'.repeat(48 * mebibyte)]) + encode(['GETDEL', 'big'])),
    ],
    [
      'wire: INCRBYFLOAT of 300 digits',
      () => repeated(encode(['INCRBYFLOAT', 'f', `0.${'1'.repeat(300)}`]), 1_000),
    ],
    [
      'wire: SET ... EX 100,000 times',
      () => repeated(encode(['SET', 'k', 'v', 'EX', '1']), 100_000),
    ],
    [
      'wire: INCR beyond 2^63, 100,000 times',
      () =>
        say(encode(['SET', 'i', '9223372036854775807']) + encode(['INCR', 'i']).repeat(100_000)),
    ],
  ]);
}

function crowds(doors: AgentDoors): readonly AgentCase[] {
  const say = sayTo(doors);
  return named([
    [
      'wire: 500 connections, half a request each',
      async () => {
        const sockets = await Promise.all(Array.from({ length: 500 }, () => open(doors)));
        for (const socket of sockets) socket.write('*2\r\n$3\r\nGET\r\n$5\r\nab');
        const outcome = await say('');
        for (const socket of sockets) socket.destroy();
        return outcome;
      },
    ],
    [
      'wire: 1,000,000 requests, nothing read',
      async () => {
        const socket = await open(doors);
        socket.pause();
        socket.write(loginOf(doors));
        socket.write(encode(['GET', 'nothing']).repeat(1_000_000));
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        const outcome = await say('');
        socket.destroy();
        return outcome;
      },
    ],
  ]);
}
