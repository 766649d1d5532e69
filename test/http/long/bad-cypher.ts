import assert from 'node:assert/strict';
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  freePort,
  HttpClient,
  quickStart,
  type ServerProcess,
  startServer,
} from '../../support/server-process.ts';

// Goal: what is long, deep, endless, ill-coded or of the wrong kind in Cypher is answered over HTTP, or refused by a 4xx that names
// its limit (limits.md 6 to 13, 33); the server lives, its memory stays bounded, and the data stay what they were. Method: one real
// server, each row at its bound and one beyond it.

const password = 'bad-cypher-password';
const MiB = 1024 * 1024;
const textBytesMax = 4 * MiB;
/** Of all statements together, one after the other: far below what any of them would take without its limit. */
const grownBytesMax = 1024 * MiB;
/** Nothing here takes a second; what hangs shall not hang the suite. */
const patienceMs = 60_000;

let server: ServerProcess;
let root: HttpClient;
let directory: string;
let elsewhere: Server;
let startBytes = 0;
let before_: unknown;

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function post(path: string, body: string | Uint8Array<ArrayBuffer>): Promise<Answer> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/api/v1/${path}`, {
    method: 'POST',
    signal: AbortSignal.timeout(patienceMs),
    headers: {
      authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body,
  });
  return { status: answer.status, text: await answer.text() };
}

const ask = (command: string, params: unknown = {}): Promise<Answer> =>
  post('command/bad', JSON.stringify({ language: 'cypher', command, params }));

function memoryOf(name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
}

/** All that must stay as it is. */
async function stateOfData(): Promise<unknown> {
  const data = await ask(
    'MATCH (n) RETURN count(n) AS n, sum(n.k) AS k, sum(size(keys(n))) AS keys, COUNT { ()-->() } AS edges, sum(size(labels(n))) AS labels',
  );
  const types = await root.sql('bad', 'SELECT count(*) AS n FROM schema:types');
  return [data.text, types];
}

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'polyad-bad-cypher-'));
  writeFileSync(join(directory, 'people.csv'), 'name\nAda\n');
  server = await startServer({
    rootPath: directory,
    rootPassword: password,
    environment: quickStart,
    settings: {
      'service.opencypher.loadCsv.importDirectory': directory,
      'service.server.security.importMaxSize': String(8 * MiB),
    },
  });
  root = new HttpClient(server.port, 'root', password);
  await root.server('create database bad');
  for (const command of [
    'UNWIND range(1, 1000) AS i CREATE (:P {k: i})',
    'UNWIND range(1, 120) AS i CREATE (:C {k: i})',
    'MATCH (a:C), (b:C) WHERE a.k < b.k CREATE (a)-[:T]->(b)',
    'CREATE (:R {text: "a"})',
  ]) {
    const { status, text } = await ask(command);
    assert.equal(status, 200, text);
  }
  elsewhere = createServer((request, response) => {
    if (request.url === '/round') response.writeHead(302, { location: '/round' }).end();
    else if (request.url === '/passwd')
      response.writeHead(302, { location: 'file:///etc/passwd' }).end();
    else {
      const piece = 'a,b,c\n'.repeat(10_000);
      const more = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', more);
      more();
    }
  });
  const port = await freePort();
  await new Promise<void>((resolve) => elsewhere.listen(port, '127.0.0.1', resolve));
  before_ = await stateOfData();
  startBytes = memoryOf('VmRSS');
});

after(async () => {
  elsewhere?.closeAllConnections();
  elsewhere?.close();
  await server?.kill();
  rmSync(directory, { recursive: true, force: true });
});

const nested = (count: number, open: string, inner: string, close: string) =>
  `${open.repeat(count)}${inner}${close.repeat(count)}`;
const chain = (term: string, operator: string, count = 50_000) =>
  `RETURN ${Array(count).fill(term).join(operator)} AS x`;
const many = (count: number, item: (at: number) => string, between = ', ') =>
  Array.from({ length: count }, (_, at) => item(at)).join(between);
const textOf = (bytes: number) => `RETURN size('${'x'.repeat(bytes - 20)}') AS x`;
const depth = /maxExpressionDepth/;

/** What each statement answers as `x`. */
const answered: Readonly<Record<string, readonly [command: string, x: unknown, params?: object]>> =
  {
    '199 parentheses': [`RETURN ${nested(199, '(', '1', ')')} AS x`, 1],
    '198 calls': [`RETURN ${nested(198, 'abs(', '1', ')')} AS x`, 1],
    '50,000 AND': [chain('true', ' AND '), true],
    '50,000 OR': [chain('false', ' OR '), false],
    '50,000 XOR': [chain('true', ' XOR '), false],
    '50,000 +': [chain('$p', ' + '), 50_000, { p: 1 }],
    '50,000 ||': [chain('$p', ' || '), 'a'.repeat(50_000), { p: 'a' }],
    '50,000 *': [chain('1', ' * '), 1],
    '50,000 ^': [chain('1', ' ^ '), 1],
    '50,000 <=': [chain('1', ' <= '), true],
    '50,000 WHEN': [`RETURN CASE ${'WHEN false THEN 1 '.repeat(50_000)}ELSE 2 END AS x`, 2],
    '50,000 labels': [`MATCH (n:${many(50_000, (at) => `L${at}`, '|')}) RETURN count(n) AS x`, 0],
    '50,000 parameters': [
      `RETURN ${many(50_000, (at) => `$p${at}`, ' + ')} AS x`,
      50_000,
      Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`p${at}`, 1])),
    ],
    '5,000 UNION': [Array(5_000).fill('RETURN 1 AS x').join(' UNION '), 1],
    '4 MiB of text': [textOf(textBytesMax), textBytesMax - 20 - 0],
    '4 MiB of a comment': [`RETURN /*${'*'.repeat(textBytesMax - 30)}*/ 1 AS x`, 1],
    '4 MiB of comments': [`${'//\n'.repeat(1_390_000)}RETURN 1 AS x`, 1],
    '4 MiB of blanks': [`RETURN${' '.repeat(textBytesMax - 30)}1 AS x`, 1],
    '4 MiB of a list': [`RETURN size([${'1,'.repeat(2_000_000)}1]) AS x`, 2_000_001],
    '4 MiB of escapes': [`RETURN size('${'\\u0041'.repeat(690_000)}') AS x`, 690_000],
    'a regular expression that backtracks elsewhere': [
      `RETURN '${'a'.repeat(5_000)}!' =~ '(a+)+$' AS x`,
      false,
    ],
    'nested stars': [`RETURN '${'a'.repeat(5_000)}' =~ '((a*)*)*b' AS x`, false],
    'a pattern of 65,536 characters': [`RETURN 'a' =~ '${'a'.repeat(65_536)}' AS x`, false],
    '__proto__ as a key of a parameter': [
      'RETURN keys($p) AS x',
      ['__proto__', 'constructor'],
      JSON.parse('{"p": {"__proto__": {"y": 1}, "constructor": 2}}') as object,
    ],
    '__proto__ as the name of a parameter': [
      'RETURN $__proto__ AS x',
      5,
      JSON.parse('{"__proto__": 5}') as object,
    ],
    'a property that no map has': ['RETURN {a: 1}.constructor AS x', null],
    'a back-tick in the name of a variable': ['WITH 1 AS `a``b` RETURN `a``b` AS x', 1],
    'shapes of a pattern over a clique': [
      'MATCH (a:C)-[:T*1..2]->(b:C) RETURN count(*) AS x',
      7_140 + 280_840,
    ],
    'half of a character that is escaped twice': ["RETURN size('\\\\uD800') AS x", 6],
  };

for (const [name, [command, x, params]] of Object.entries(answered))
  test(`${name} is answered`, async () => {
    const { status, text } = await ask(command, params);
    assert.equal(status, 200, text.slice(0, 500));
    const { result } = JSON.parse(text) as { result: readonly { readonly x: unknown }[] };
    assert.deepEqual(result[0]?.x, x);
  });

/** Refused with which status, by an error of which text. */
const refused: Readonly<
  Record<string, readonly [command: string, status: number, reason: RegExp, params?: object]>
> = {
  '200 parentheses': [`RETURN ${nested(200, '(', '1', ')')} AS x`, 400, depth],
  '201 maps': [`RETURN ${nested(201, '{a: ', '1', '}')} AS x`, 400, depth],
  '201 CASE': [`RETURN ${nested(201, 'CASE WHEN true THEN ', '1', ' END')} AS x`, 400, depth],
  '201 EXISTS': [`RETURN ${nested(201, 'EXISTS { MATCH (a) WHERE ', 'true', ' }')}`, 400, depth],
  '201 CALL': [`${nested(201, 'CALL { ', 'RETURN 1 AS x', ' RETURN x }')} RETURN x`, 400, depth],
  '201 FOREACH': [nested(201, 'FOREACH (x IN [1] | ', 'CREATE (:Q)', ')'), 400, depth],
  '201 quantified parts': [`MATCH ${nested(201, '(', '()-->()', '){1,2}')} RETURN 1`, 400, depth],
  '201 types': [`RETURN [] IS :: ${nested(201, 'LIST<', 'INTEGER', '>')} AS x`, 400, depth],
  '5,000 NOT': [`RETURN ${'NOT '.repeat(5_000)}true AS x`, 400, depth],
  '5,000 minus': [`RETURN ${'- '.repeat(5_000)}1 AS x`, 400, depth],
  '50,000 properties': [`WITH {} AS m RETURN m${'.p'.repeat(50_000)} AS x`, 400, depth],
  '50,000 indexes': [`RETURN [1]${'[0]'.repeat(50_000)} AS x`, 400, depth],
  '5,000 steps': [`MATCH (a)${'-[:T]->()'.repeat(5_000)} RETURN 1 AS x`, 400, depth],
  '5,000 steps of a predicate': [
    `MATCH (a) WHERE (a)${'-[:T]->()'.repeat(5_000)} RETURN 1 AS x`,
    400,
    depth,
  ],
  '5,000 steps of a comprehension': [
    `MATCH (a) RETURN [(a)${'-[:T]->()'.repeat(5_000)} | 1] AS x`,
    400,
    depth,
  ],
  '5,000 steps of MERGE': [`MERGE (a:P)${'-[:T]->(:P)'.repeat(5_000)}`, 400, depth],
  '50,000 nodes': [`MATCH ${many(50_000, (at) => `(c${at})`)} RETURN 1 AS x`, 400, depth],
  '5,000 clauses': [`${'MATCH (n) '.repeat(5_000)}RETURN 1 AS x`, 400, depth],
  '4 MiB and one byte': [textOf(textBytesMax + 1), 413, /maxStatementSize/],
  '4 MiB of (': [`MATCH ${'('.repeat(textBytesMax - 10)}`, 400, depth],
  '4 MiB of [': [`RETURN ${'['.repeat(textBytesMax - 10)}`, 400, depth],
  '4 MiB of arrows': [`MATCH ()${'-->'.repeat(1_390_000)}() RETURN 1`, 400, /expected '\('/],
  '4 MiB of digits': [`RETURN ${'1'.repeat(textBytesMax - 10)}`, 400, /queryMaxNumberDigits/],
  '4 MiB of back-ticks': [`RETURN ${'`'.repeat(textBytesMax - 11)}`, 400, /name without end/],
  '4 MiB of terms': [chain('$p', ' OR ', 690_000), 413, /maxStatementSize/, { p: false }],
  'an open comment of 4 MiB': [`RETURN 1 /*${'*'.repeat(textBytesMax - 30)}`, 400, /unexpected/],
  'range(0, 10^9)': ['UNWIND range(0, 1000000000) AS i RETURN i', 400, /queryMaxRangeSize/],
  'a text that doubles': [
    "RETURN reduce(s = 'x', i IN range(1, 100) | s + s) AS x",
    400,
    /queryMaxValueSize/,
  ],
  'a list that doubles': [
    'RETURN reduce(s = [1], i IN range(1, 100) | s + s) AS x',
    400,
    /queryMaxHeapElementsAllowedPerOp/,
  ],
  'a map of lists that doubles': [
    'RETURN reduce(s = {a: [1]}, i IN range(1, 100) | {a: s.a + s.a, b: s}) AS x',
    400,
    /queryMax/,
  ],
  'a text that is filled up': [
    "RETURN text.lpad('a', 1000000000, 'x') AS x",
    400,
    /queryMaxValueSize/,
  ],
  'a text that is replaced': [
    "RETURN replace(replace(text.lpad('', 10000, 'x'), 'x', text.lpad('', 10000, 'y')), 'y', 'zz') AS x",
    400,
    /queryMaxValueSize/,
  ],
  'collect of 10^8': [
    'UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b RETURN collect(a) AS x',
    400,
    /queryMaxHeapElementsAllowedPerOp/,
  ],
  'groups of 10^8': [
    'UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b RETURN DISTINCT toString(a * 10000 + b) AS x ORDER BY x LIMIT 1',
    400,
    /queryMaxHeapElementsAllowedPerOp/,
  ],
  'a pattern of 65,537 characters': [`RETURN 'a' =~ '${'a'.repeat(65_537)}'`, 400, /regexMaxSize/],
  'a pattern of 10^9 states': ["RETURN 'a' =~ '((a{1,1000}){1,1000}){1,1000}'", 400, /too large/],
  'a pattern that is none': ["RETURN 'a' =~ $p AS x", 400, /regular expression/, { p: '(((' }],
  '1e400': ['RETURN 1e400 AS x', 400, /FloatingPointOverflow/],
  '10,001 digits': [`RETURN 0.${'1'.repeat(10_001)} AS x`, 400, /queryMaxNumberDigits/],
  'an exponent of 6,145': ['RETURN 1e-6145 AS x', 400, /queryMaxNumberExponent/],
  '2^63': ['RETURN 9223372036854775808 AS x', 400, /IntegerOverflow/],
  'the minus of -2^63': ['RETURN - -9223372036854775808 AS x', 400, /overflow/],
  'a label of 257 characters': [`CREATE (:\`${'L'.repeat(257)}\`)`, 400, /maxNameLength/],
  'a property of 257 characters': [`CREATE (:P {\`${'p'.repeat(257)}\`: 1})`, 400, /maxNameLength/],
  'an empty label': ['CREATE (:``)', 400, /empty name/],
  'NUL in a label': ['CREATE (:`a\u0000b`)', 400, /control character/],
  'half of a character': ["RETURN '\\uD800' AS x", 400, /lone surrogate/],
  'parameters nested 33 deep': [
    'RETURN $p AS x',
    400,
    /httpMarkerMaxDepth/,
    { p: JSON.parse(nested(33, '[', '1', ']')) as unknown },
  ],
  'half of a parameter': ['RETURN $p AS x', 400, /lone surrogate/, { p: '\ud800' }],
  '50,000 parameters that are not given': [
    `RETURN ${many(50_000, (at) => `$p${at}`, ' + ')} AS x`,
    400,
    /MissingParameter/,
  ],
  'a file beside the directory': ["LOAD CSV FROM 'file:///../secret' AS r RETURN r", 403, /./],
  'another scheme': ["LOAD CSV FROM 'ftp://127.0.0.1/x' AS r RETURN r", 403, /./],
  'an address that is private': [
    "LOAD CSV FROM 'http://169.254.169.254/x' AS r RETURN r",
    403,
    /./,
  ],
};

for (const [name, [command, status, reason, params]] of Object.entries(refused))
  test(`${name} is refused`, async () => {
    const answer = await ask(command, params);
    assert.equal(answer.status, status, answer.text.slice(0, 500));
    assert.match(answer.text, reason);
  });

test('bytes that are no UTF-8 and halves of characters are refused as bodies', async () => {
  const body = (inside: Uint8Array) =>
    Buffer.concat([
      Buffer.from('{"language":"cypher","command":"RETURN \''),
      inside,
      Buffer.from('\' AS x"}'),
    ]);
  for (const bytes of [[0xc3, 0x28], [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80]])
    assert.equal((await post('command/bad', body(Buffer.from(bytes)))).status, 400);
  assert.equal((await post('command/bad', body(Buffer.from('\\ud800')))).status, 400);
  assert.equal((await post('command/bad', body(Buffer.from('\\udc00\\ud800')))).status, 400);
  const whole = await post('command/bad', body(Buffer.from('\\ud83d\\ude00')));
  assert.match(whole.text, /"x":"😀"/u);
});

const odd: readonly unknown[] = [
  5,
  -1,
  1.5,
  'x',
  '',
  true,
  null,
  [1, 'a', null],
  [[1], [{ a: [2] }]],
  { a: 1 },
  {},
  '#1:0',
  { $bytes: 'AAEC' },
  JSON.parse('{"__proto__": {"x": 1}}'),
];
const places = [
  'RETURN $p.a',
  'RETURN $p[0]',
  "RETURN $p['a']",
  'RETURN $p[0..1]',
  'RETURN $p + 1',
  'RETURN $p * 2',
  'RETURN -$p',
  'RETURN NOT $p',
  'RETURN $p < 5',
  'RETURN 5 IN $p',
  "RETURN 'abc' =~ $p",
  'UNWIND $p AS y RETURN y',
  'RETURN reduce(a = 0, y IN $p | a + y)',
  'RETURN size($p)',
  'RETURN labels($p)',
  'RETURN nodes($p)',
  'RETURN range($p, 3)',
  "RETURN substring('abc', $p)",
  'RETURN date($p)',
  'RETURN duration($p)',
  'RETURN datetime($p)',
  'RETURN point($p)',
  'MATCH (n:R) RETURN n SKIP $p',
  'MATCH (n:R) RETURN n LIMIT $p',
  'MATCH (n) WHERE id(n) = $p RETURN count(n)',
  'MATCH (n) WHERE $p RETURN count(n)',
  'MATCH (n:R) RETURN percentileDisc(1, $p)',
  'MATCH (n:R) RETURN sum($p)',
  'CREATE (n:P $p) DELETE n',
  'CREATE (n:P) SET n = $p DELETE n',
  'CREATE (n:P) SET n[$p] = 1 DELETE n',
  'DELETE $p',
  'MERGE (n:R {text: $p}) WITH n WHERE n.text <> "a" DELETE n',
  'CALL algo.bfs($p)',
  'CALL algo.pagerank($p)',
  'CALL path.expand($p, $p, $p, $p, $p)',
  'CALL refactor.mergeNodes($p, $p)',
  'LOAD CSV FROM $p AS r RETURN r',
  'RETURN text.join($p, $p)',
  'RETURN map.fromPairs($p)',
  'RETURN convert.fromJsonMap($p)',
  'RETURN create.vNode($p, $p)',
  'RETURN util.decompress($p)',
  'RETURN date.format($p, $p)',
  'RETURN vector.similarity.cosine($p, $p)',
];

test('a parameter of any kind stands in any place without a fault of the server', async () => {
  for (const command of places)
    for (const p of odd) {
      const { status, text } = await ask(command, { p });
      assert(
        [200, 400, 403].includes(status),
        `${status} for '${command}' with ${JSON.stringify(p)}: ${text}`,
      );
    }
});

test('a file without an end and redirects without an end are refused', async () => {
  const { port } = elsewhere.address() as AddressInfo;
  const load = (path: string) =>
    ask(`LOAD CSV FROM 'http://127.0.0.1:${port}${path}' AS r RETURN count(r) AS x`);
  for (const path of ['/endless', '/round', '/passwd'])
    assert.equal((await load(path)).status, 403);
  await root.server('set server setting service.server.security.importBlockLocalNetworks false');
  const endless = await load('/endless');
  assert.match(endless.text, /importMaxSize/);
  assert(endless.status >= 400 && endless.status < 500, endless.text);
  const round = await load('/round');
  assert.match(round.text, /redirects/);
  assert.equal(round.status, 403);
  assert.equal((await load('/passwd')).status, 403);
});

const endless: Readonly<Record<string, string>> = {
  'a product of 10^9 rows': 'MATCH (a:P), (b:P), (c:P) RETURN count(*) AS x',
  'all paths of a clique': 'MATCH (a:C {k: 1})-[:T*]-(b) RETURN count(*) AS x',
  'a quantified part over a clique': 'MATCH (a:C {k: 1}) (()-[:T]-())+ (b) RETURN count(*) AS x',
  'simple paths of a clique':
    "MATCH (a:C {k: 1}), (b:C {k: 2}) CALL algo.allsimplepaths(a, b, 'T', 100) YIELD path RETURN count(*) AS x",
  'a product that writes': 'MATCH (a:P), (b:P), (c:P) CREATE (:P {k: 1})',
  'reduce in reduce':
    'RETURN reduce(a = 0, i IN range(1, 10000000) | reduce(b = a, j IN range(1, 10000000) | b + 1)) AS x',
  'FOREACH in FOREACH':
    'FOREACH (i IN range(1, 10000000) | FOREACH (j IN range(1, 10000000) | MERGE (:R {text: "a"})))',
  'loops in loops of few elements':
    'UNWIND [1] AS z RETURN size([i IN range(1, 4000) WHERE any(j IN range(1, 4000) WHERE any(k IN range(1, 4000) WHERE k = -z))]) AS x',
  'a long sleep': 'UNWIND range(1, 1000) AS i RETURN sum(util.sleep(60000)) AS x',
};

interface Listed {
  readonly result: readonly { readonly id: number; readonly requestId: string }[];
}

for (const [name, command] of Object.entries(endless))
  test(`${name} is ended by its id`, async () => {
    const ended = ask(command);
    let listed: Listed['result'] = [];
    while (listed.length === 0) {
      const { body } = await root.request('GET', '/server/statements');
      listed = (body as Listed).result;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const deleted = await root.request('DELETE', `/server/operations/${listed[0]?.requestId}`);
    assert.equal(deleted.status, 200, JSON.stringify(deleted.body));
    const { status, text } = await ended;
    assert.equal(status, 500);
    assert.match(text, /CommandCancelledException/);
  });

test('afterwards the server lives, its memory was bounded, and the data are what they were', async () => {
  assert.equal(server.child.exitCode, null);
  assert.deepEqual(await stateOfData(), before_);
  const grown = memoryOf('VmHWM') - startBytes;
  assert(grown < grownBytesMax, `grown by ${Math.round(grown / MiB)} MiB`);
  assert.equal(({} as Record<string, unknown>)['y'], undefined);
});
