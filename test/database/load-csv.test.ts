// LOAD CSV (cypher.md 3.2; security.md 4.3, 8.1): what is read, by whom, from where, and that memory does not grow with the file.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { DatabaseError } from '#core/errors.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

const reader: Principal = { name: 'reader', isRoot: false, via: 'password' };
const authorizer: Authorizer = {
  require(_who, _database, { effects }) {
    if (effects.has('security')) throw new DatabaseError('Forbidden', 'no');
  },
  canAccess: () => true,
  canRead: () => true,
};
const people = 'name,age\n"Ada, \\"L\\"",36\n\n"two\nlines",\n"",9\n';
let directory: string;
let database: TestDatabase;
/** Private addresses may be asked. */
let open: TestDatabase;

const server = createServer((request, response) => {
  const path = request.url ?? '';
  if (path.startsWith('/round')) {
    const count = Number(path.slice('/round'.length));
    const next = count === 1 ? '/people.csv' : `/round${count - 1}`;
    response.writeHead(302, { location: next }).end();
  } else if (path === '/elsewhere')
    response.writeHead(302, { location: 'file:///etc/passwd' }).end();
  else if (path === '/endless') {
    const piece = 'a,b,c\n'.repeat(10_000);
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', more);
    more();
  } else response.end(people);
});

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'polyad-csv-'));
  mkdirSync(join(directory, 'in'));
  writeFileSync(join(directory, 'in', 'people.csv'), people);
  writeFileSync(join(directory, 'in', 'people.csv.gz'), gzipSync(people));
  writeFileSync(join(directory, 'in', 'semi.csv'), '\ufeffa;b\r\n1;2\r\n');
  writeFileSync(join(directory, 'in', 'gaps.csv'), 'a,,""\n');
  writeFileSync(join(directory, 'in', 'gaps2.csv'), 'a,b\n,""\n');
  writeFileSync(join(directory, 'in', 'open.csv'), 'a\n"b');
  writeFileSync(join(directory, 'in', 'latin.csv'), Buffer.from([0x61, 0xe9, 0x0a]));
  writeFileSync(join(directory, 'in', 'large.csv'), `${'x'.repeat(60)},1\n`.repeat(400_000));
  writeFileSync(join(directory, 'secret.csv'), 'secret\n');
  symlinkSync(join(directory, 'secret.csv'), join(directory, 'in', 'link.csv'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const settings = { 'opencypher.loadCsv.importDirectory': join(directory, 'in') };
  database = await openTestDatabase({ settings, authorizer });
  open = await openTestDatabase({
    settings: {
      'server.security.importBlockLocalNetworks': 'false',
      'server.security.importMaxSize': '1000000',
      'opencypher.loadCsv.allowFileUrls': 'false',
    },
  });
});
after(async () => {
  await database.close();
  await open.close();
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true });
});

const load = (text: string, options = {}) => database.print(text, {}, options, 'cypher');
const url = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;

test('rows are lists, or maps with headers; what is empty is null in a map, what is quoted is text', async () => {
  assert.equal(
    await load("LOAD CSV FROM 'file:///people.csv' AS r RETURN r, linenumber() AS n"),
    '{r: ["name", "age"], n: 1}\n{r: ["Ada, \\"L\\"", "36"], n: 2}\n{r: ["two\\nlines", ""], n: 4}\n{r: ["", "9"], n: 6}',
  );
  assert.equal(
    await load(
      "LOAD CSV WITH HEADERS FROM 'people.csv.gz' AS r WITH r.age AS age WHERE age IS NOT NULL RETURN toInteger(age) AS age, linenumber() AS n, file() AS f",
    ),
    '{age: 36, n: 2, f: "people.csv.gz"}\n{age: 9, n: 6, f: "people.csv.gz"}',
  );
  assert.equal(
    await load("LOAD CSV WITH HEADERS FROM '/semi.csv' AS r FIELDTERMINATOR ';' RETURN *"),
    '{r: {a: "1", b: "2"}}',
  );
  assert.equal(await load('RETURN linenumber() AS n, file() AS f'), '{n: null, f: null}');
});

test('a URL may come from a row, and a file be read several times', async () => {
  assert.equal(
    await load(
      "UNWIND ['semi.csv', 'people.csv'] AS u LOAD CSV FROM u AS r RETURN u, count(*) AS n",
    ),
    '{u: "semi.csv", n: 2}\n{u: "people.csv", n: 4}',
  );
  assert.equal(
    await load("LOAD CSV FROM 'people.csv' AS r RETURN r[0] AS a LIMIT 1"),
    '{a: "name"}',
  );
  // cypher.md 3.2: a list of texts, and null in the map alone.
  assert.equal(await load("LOAD CSV FROM 'gaps.csv' AS r RETURN r"), '{r: ["a", "", ""]}');
  assert.equal(
    await load("LOAD CSV WITH HEADERS FROM 'gaps2.csv' AS r RETURN r"),
    '{r: {a: null, b: ""}}',
  );
});

test('files are for those who may change security, in the directory alone', async () => {
  const forbidden = { code: 'Forbidden' };
  await assert.rejects(
    load("LOAD CSV FROM 'people.csv' AS r RETURN r", { principal: reader }),
    forbidden,
  );
  await assert.rejects(load("LOAD CSV FROM 'file:///../secret.csv' AS r RETURN r"), forbidden);
  await assert.rejects(load("LOAD CSV FROM '../secret.csv' AS r RETURN r"), forbidden);
  await assert.rejects(load("LOAD CSV FROM 'file:///%2e%2e/secret.csv' AS r RETURN r"), forbidden);
  await assert.rejects(load("LOAD CSV FROM 'link.csv' AS r RETURN r"), forbidden);
  const judge = (effects: ReadonlySet<string>): void => {
    if (effects.has('security')) throw new DatabaseError('Forbidden', 'a tool that only reads');
  };
  await assert.rejects(load("LOAD CSV FROM 'people.csv' AS r RETURN r", { judge }), forbidden);
  for (const scheme of ['ftp', 'jar', 'data', 'classpath'])
    await assert.rejects(load(`LOAD CSV FROM '${scheme}://x/y' AS r RETURN r`), forbidden);
  await assert.rejects(
    open.run("LOAD CSV FROM 'people.csv' AS r RETURN r", {}, {}, 'cypher'),
    forbidden,
  );
});

test('addresses that are not public are refused, at each redirect', async () => {
  const forbidden = { code: 'Forbidden' };
  const hosts = ['127.0.0.1', '[::1]', '0.0.0.0', '2130706433', '127.1', '169.254.169.254'];
  for (const host of [...hosts, '[::ffff:10.0.0.1]', '[64:ff9b::a00:1]'])
    await assert.rejects(load(`LOAD CSV FROM 'http://${host}/x' AS r RETURN r`), forbidden);
  const fetch = (path: string) =>
    open.print(`LOAD CSV FROM '${url(path)}' AS r RETURN count(*) AS n`, {}, {}, 'cypher');
  assert.equal(await fetch('/round5'), '{n: 4}');
  await assert.rejects(fetch('/round6'), /more than 5 redirects/);
  await assert.rejects(fetch('/elsewhere'), forbidden);
  await assert.rejects(fetch('/endless'), /importMaxSize/);
  const left = readdirSync(open.directory).filter((name) => name.startsWith('.fetch-tmp'));
  assert.deepEqual(left, []);
});

test('what is wrong with a file is told', async () => {
  await assert.rejects(load("LOAD CSV FROM 'nothing.csv' AS r RETURN r"), /was not found/);
  await assert.rejects(
    load("LOAD CSV FROM 'open.csv' AS r RETURN r"),
    /Line 2: a quote is not closed/,
  );
  await assert.rejects(load("LOAD CSV FROM 'latin.csv' AS r RETURN r"), /not valid UTF-8/);
  await assert.rejects(load('LOAD CSV FROM null AS r RETURN r'), /needs the text of a URL/);
  await assert.rejects(
    load("LOAD CSV FROM 'people.csv' AS r FIELDTERMINATOR 'ab' RETURN r"),
    /FIELDTERMINATOR is one character/,
  );
});

test('a large file is not held in memory, also while it is written in batches', async () => {
  const small = await openTestDatabase({
    settings: {
      'opencypher.loadCsv.importDirectory': join(directory, 'in'),
      queryMaxMemory: '2000000',
    },
  });
  try {
    const run = (text: string) => small.print(text, {}, {}, 'cypher');
    assert.equal(await run("LOAD CSV FROM 'large.csv' AS r RETURN count(r) AS n"), '{n: 400000}');
    await run(
      "LOAD CSV FROM 'large.csv' AS r WITH r LIMIT 20000 CALL (r) { CREATE (:P {x: r[0]}) } IN TRANSACTIONS OF 500 ROWS",
    );
    assert.equal(await run('MATCH (p:P) RETURN count(p) AS n'), '{n: 20000}');
    await assert.rejects(
      run("LOAD CSV FROM 'large.csv' AS r RETURN collect(r) AS all"),
      /queryMaxMemory/,
    );
  } finally {
    await small.close();
  }
});
