import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { clusterCapabilities } from '#cluster/features.ts';
import { rowsText } from '#cli/row-output.ts';
import { turnsUntil } from '../support/turns.ts';
import { commandLine } from './terminal-fixture.ts';

const root = resolve(import.meta.dirname, '../..');
const executable = resolve(root, 'server/cli/polyad.mjs');

test('the executable tells its version and its use, and refuses what it does not know', () => {
  const polyad = (...words: string[]) => {
    const { status, stdout, stderr } = spawnSync(executable, words, {
      encoding: 'utf8',
      env: {
        ...process.env,
        PATH: `${resolve(process.execPath, '..')}:${process.env['PATH']}`,
        // A server that starts fills it first, which takes a while.
        NODE_COMPILE_CACHE: resolve(root, 'node_modules/.cache/polyad-code'),
      },
    });
    return { status, stdout, stderr };
  };
  assert.match(polyad('--version').stdout, /^polyad \d+\.\d+\.\d+\n$/);
  const { name, formats, capabilities } = JSON.parse(polyad('--version', '--json').stdout);
  assert.deepEqual([name, Object.keys(formats)], ['polyad', ['storage', 'log', 'catalog']]);
  for (const capability of clusterCapabilities) assert.ok(capabilities.includes(capability));
  assert.deepEqual(formats.log, { reads: [1, 2], writes: 2 });
  const help = polyad('--help');
  assert.deepEqual(
    [help.status, help.stdout.split('\n')[0]],
    [0, 'polyad, a multi-model database'],
  );
  for (const words of [
    ['start', '--help'],
    ['start', '-h'],
    ['import', '--help'],
  ])
    assert.deepEqual(polyad(...words), help, words.join(' '));
  assert.equal(polyad().status, 2);
  const odd = polyad('dance');
  assert.deepEqual([odd.status, odd.stdout], [2, '']);
  assert.match(odd.stderr, /^polyad: 'dance' is no command/);
  // A setting alone starts a server: an unknown one is refused by it, by name.
  const unknown = polyad('--service.server.nmae=x');
  assert.deepEqual([unknown.status, /server\.nmae/.test(unknown.stderr)], [1, true]);
});

test('a statement is run and its rows are printed; every digit is kept', async (context) => {
  const { run, data } = await commandLine(context);
  await data.run('CREATE DOCUMENT TYPE N');
  await data.run('INSERT INTO N SET a = 1, b = \'x, "y"\', c = 9007199254740993');
  await data.run("INSERT INTO N SET a = 2.5, b = :b, d = ''", { b: 'line\nbreak\u001b[2J' });
  const select = 'SELECT a, b, c, d FROM N ORDER BY a';
  const plain = await run(['sql', 'test', select]);
  assert.deepEqual(plain, {
    code: 0,
    output: 'a\tb\tc\td\n1\tx, "y"\t9007199254740993\t\n2.5\tline break\\u001b[2J\t\t\n',
    messages: '',
  });
  const csv = await run(['sql', 'test', select, '--format', 'csv']);
  assert.equal(
    csv.output,
    'a,b,c,d\r\n1,"x, ""y""",9007199254740993,\r\n2.5,"line\nbreak\u001b[2J",,""\r\n',
  );
  const json = await run(['sql', 'test', select, '-f', 'json']);
  const [first] = json.output.split('\n');
  assert.equal(first, '{"a":1,"b":"x, \\"y\\"","c":9007199254740993,"d":null}');
  const limited = await run(['sql', 'test', 'SELECT FROM N', '--limit', '1', '-f', 'json']);
  assert.match(limited.messages, /there are more than 1 rows/);
  assert.equal(limited.code, 5);
  const script = await run(['sql', 'test', '--limit', '1'], 'SELECT FROM N; SELECT 1');
  assert.equal(script.code, 5, 'also when a later statement was whole');
});

test('output that is no terminal has no limit of its own, whatever is asked', async (context) => {
  const { run, data } = await commandLine(context, { 'server.httpQueryDefaultLimit': '3' });
  await data.run('CREATE DOCUMENT TYPE N');
  for (let i = 0; i < 5; i += 1) await data.run(`INSERT INTO N SET i = ${i}`);
  const json = await run(['sql', 'test', '-f', 'json', '/* all */ SELECT i FROM N ORDER BY i']);
  assert.deepEqual(json, {
    code: 0,
    output: '{"i":0}\n{"i":1}\n{"i":2}\n{"i":3}\n{"i":4}\n',
    messages: '',
  });
  const update = ['sql', 'test', '-f', 'csv', 'UPDATE N SET j = 1 RETURN AFTER i'];
  assert.equal((await run(update)).output, 'i\r\n0\r\n1\r\n2\r\n3\r\n4\r\n');
  const script = ['sql', 'test', '-l', 'sqlscript', '-f', 'csv', 'LET a = 1; SELECT i FROM N'];
  assert.equal((await run(script)).output.split('\r\n').length, 7);
  const cypher = ['cypher', 'test', 'UNWIND range(1, 5) AS x RETURN x'];
  assert.equal((await run(cypher)).output, 'x\n1\n2\n3\n4\n5\n');
  const path =
    'CREATE p = (:A {k: "it\'s"})<-[:`to be` {w: 1}]-(:B:C {`a b`: 2.0})-[:R]->() RETURN p, [1] AS l';
  assert.equal(
    (await run(['cypher', 'test', path])).output,
    "p\tl\n(:A {k: 'it\\'s'})<-[:`to be` {w: 1}]-(:B:C {`a b`: 2.0})-[:R]->()\t[1]\n",
  );
  const profiled = (await run(['cypher', 'test', 'PROFILE MATCH (n:A) RETURN n.k AS k'])).output;
  assert.match(profiled, /k\nit's\n/u);
  assert.match(profiled, /\+ SCAN A/u);
  for (const word of ['EXPLAIN', 'PROFILE'])
    assert.match((await run(['sql', 'test', `${word} SELECT FROM N`])).output, /^\+ /);
  const failing = await run(['sql', 'test', '-f', 'json', 'SELECT 12 / (i - 3) AS q FROM N']);
  assert.deepEqual([failing.code, failing.messages !== ''], [1, true]);
});

test('columns that come late are left out of csv, and that is told', async (context) => {
  const { run } = await commandLine(context);
  const wide = 'x'.repeat(1024 * 1024);
  const select = `SELECT expand([{'a': '${wide}'}, {'a': 'y', 'b': 1}])`;
  const csv = await run(['sql', 'test', '-f', 'csv', select]);
  assert.deepEqual([csv.code, csv.output.endsWith('\r\ny\r\n')], [5, true]);
  assert.match(csv.messages, /left out: b; -f json shows all/);
  const json = await run(['sql', 'test', '-f', 'json', select]);
  assert.deepEqual([json.code, json.output.endsWith('{"a":"y","b":1}\n')], [0, true]);
});

test('places in a text of several statements are counted from its beginning', async (context) => {
  const { run, data } = await commandLine(context);
  await data.run('CREATE DOCUMENT TYPE N');
  const message = async (text: string) => (await run(['sql', 'test', '-f', 'json'], text)).messages;
  assert.match(await message('SELECT 1;\n\nSELECT 2; SELECT FROM;\n'), /line 3, column 22/);
  assert.match(await message("-- '日本\nSELECT\n 1;SELECT FROM Nn"), /line 3, column 16/);
  assert.match(await message('SELECT 1;\n SELECT 1/0'), /\(in the statement at line 2, column 2\)/);
  const typed = await run(['sql', 'test', 'SELECT 1; SELECT FROM Nn']);
  assert.match(typed.messages, /line 1, column 23/);
  assert.equal(
    await message('SELECT 1;\nSELECT :a AS a'),
    "polyad: warning: line 2, column 8: parameter ':a' is not given, so it is null\n",
  );
});

test('a table with too many columns for its line shows a row as lines', () => {
  const style = { format: 'table', hasFrame: true, hasColour: false, width: 20 } as const;
  const row = { a: 'x\ny', bb: null, ccc: 1 };
  assert.equal(rowsText([row], style), '── row 1\na   │ x\n      y\nbb  │ \nccc │ 1\n');
  assert.match(rowsText([{ a: 1 }], style), /^┌/);
});

test('what is misspelt gets a suggestion', async (context) => {
  const { run } = await commandLine(context);
  const command = await run(['stauts']);
  assert.deepEqual([command.code, /did you mean 'status'\?/.test(command.messages)], [2, true]);
  const option = await run(['sql', 'test', 'SELECT 1', '--fromat', 'json']);
  assert.deepEqual([option.code, /did you mean '--format'\?/.test(option.messages)], [2, true]);
  assert.doesNotMatch((await run(['dance'])).messages, /did you mean/);
});

test('characters of two columns are not cut in tables', () => {
  const style = { format: 'table', hasFrame: true, hasColour: false, width: 80 } as const;
  const text = rowsText([{ 国: '日本国' }, { 国: '👩‍🚀🇩🇪☀️' }, { 国: 'é' }], style);
  for (const part of ['国', '日本国', '👩‍🚀🇩🇪☀️', 'é']) assert.ok(text.includes(part), text);
  assert.doesNotMatch(text, /…/);
});

test('what comes through a pipe is cut into statements; the first failure ends it', async (context) => {
  const { run } = await commandLine(context);
  const text = "SELECT 1 AS a; -- no end; here\nSELECT 'x;y' AS b;\nSELECT 2 AS c";
  const ran = await run(['sql', 'test', '-f', 'json'], text);
  assert.equal(ran.output, '{"a":1}\n{"b":"x;y"}\n{"c":2}\n');
  const broken = await run(['sql', 'test', '-f', 'json'], 'SELECT 1 AS a; SELECT FROM; SELECT 3');
  assert.deepEqual([broken.code, broken.output], [1, '{"a":1}\n']);
  assert.match(broken.messages, /^polyad: Cannot execute command: line 1/);
  const torn = await run(['sql', 'test'], Buffer.from("SELECT '\xff' AS a", 'latin1'));
  assert.deepEqual(
    [torn.code, torn.messages],
    [1, 'polyad: what comes on the input is no UTF-8\n'],
  );
  const typed = "SELECT 1 AS a; SELECT 'x;y' AS b";
  assert.equal((await run(['sql', 'test', typed, '-f', 'json'])).output, '{"a":1}\n{"b":"x;y"}\n');
  const plan = await run(['sql', 'test', 'EXPLAIN SELECT 1 AS a']);
  assert.match(plan.output, /^\+ .*[^\n]\n$/s);
  const script = 'LET a = 5;\nIF ($a > 3) {\n  RETURN $a;\n}\n';
  const ofScript = await run(['sql', 'test', '-l', 'sqlscript', '-f', 'json'], script);
  assert.equal(ofScript.output, '{"value":5}\n');
});

test('exit codes tell wrong use, a refusal, and a server that is not there', async (context) => {
  const { run, directory } = await commandLine(context);
  const codes: readonly [readonly string[], Readonly<Record<string, string>>, number][] = [
    [['sql'], {}, 2],
    [['sql', 'test', 'SELECT 1', 'more'], {}, 2],
    [['sql', 'test', 'SELECT 1', '--format', 'xml'], {}, 2],
    [['sql', 'test', 'SELECT 1', '--password', 'x'], {}, 2],
    [['sql', 'test', 'SELECT 1', '--colour'], {}, 2],
    [['status', '--url', 'http://root:password@host'], {}, 2],
    [['status', '--url', 'ftp://host'], {}, 2],
    [['sql', 'none', 'SELECT 1'], {}, 1],
    [['sql', 'test', 'SELECT 1/0'], {}, 1],
    [['status'], { POLYAD_PASSWORD: 'wrong' }, 4],
    [['status', '--url', 'http://127.0.0.1:1'], {}, 3],
    [['import', 'test', join(directory, 'none.jsonl')], {}, 1],
    [['restore', 'test', 'file:///backup.zip', '--overwrite'], {}, 2],
    [['status'], {}, 0],
  ];
  for (const [words, environment, code] of codes)
    assert.equal((await run(words, '', environment)).code, code, words.join(' '));
});

test('an import that the server refuses is a refusal, also in the middle of its answer', async (context) => {
  const { run, data, door } = await commandLine(context);
  await data.run('CREATE VERTEX TYPE V');
  const databases = new Map([['test', ['reader']]]);
  await door.users.create('rita', { password: 'password', databases });
  const asReader = { POLYAD_USER: 'rita' };
  const ran = await run(['import', 'test', '-'], '{"@type":"v","@class":"V"}\n', asReader);
  assert.deepEqual([ran.code, ran.output], [4, '']);
  assert.match(ran.messages, /'rita' is not allowed to createRecord/);
});

test('a password comes from a file too, and is printed nowhere', async (context) => {
  const { run, directory } = await commandLine(context);
  const file = join(directory, 'password');
  writeFileSync(file, 'password\n');
  const environment = { POLYAD_PASSWORD: 'wrong' };
  const ran = await run(['status', '--json', '--password-file', file], '', environment);
  const status = JSON.parse(ran.output);
  assert.deepEqual([status.ready, status.databases], [true, ['test']]);
  assert.doesNotMatch(ran.output + ran.messages, /password/);
});

test('files of vertices and edges are streamed, packed ones too; errors tell what is stored', async (context) => {
  const { run, data, directory } = await commandLine(context);
  await data.run('CREATE VERTEX TYPE V');
  await data.run('CREATE EDGE TYPE E');
  const save = (name: string, content: string | Buffer) => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
  const lines =
    '{"@type":"v","@class":"V","@id":"a"}\n{"@type":"v","@class":"V","@id":"b"}\n' +
    '{"@type":"e","@class":"E","@from":"a","@to":"b"}\n';
  const ran = await run(['import', 'test', save('a.jsonl', lines)]);
  assert.match(ran.output, /^Imported 2 vertices, 1 edge in \d+\.\d s\n$/);
  assert.equal((await run(['import', 'test', save('a.gz', gzipSync(lines))])).code, 0);
  const csv = '@type,@class,@id\nv,V,x\n---\n@type,@class,@from,@to\ne,E,x,x\n';
  assert.match((await run(['import', 'test', save('a.csv', csv)])).output, /1 vertex, 1 edge/);
  assert.deepEqual(await data.run('SELECT count(*) AS n FROM V'), [{ n: 5 }]);
  // What comes through a pipe, too.
  assert.match((await run(['import', 'test', '-'], lines)).output, /2 vertices, 1 edge/);
  assert.match((await run(['import', 'test', '-', '-f', 'csv'], csv)).output, /1 vertex, 1 edge/);
  const unknown = await run(['import', 'test', '-'], 'a;b\n1;2\n');
  assert.deepEqual([unknown.code, /--format/.test(unknown.messages)], [2, true]);
  const broken = await run(['import', 'test', save('b.jsonl', `${lines}{"@type":"v"}\n`)]);
  assert.deepEqual([broken.code, broken.output], [1, '']);
  assert.match(broken.messages, /^polyad: .*[Ll]ine 4/);
});

test('a conversation: lines become statements, commands begin with a backslash', async (context) => {
  const { open, data, directory } = await commandLine(context);
  await data.run('CREATE DOCUMENT TYPE N');
  const shell = open(['sql', 'test'], { NO_COLOR: '1' });
  await shell.until('test> ');
  shell.type('SELECT 41 + 1\r');
  await shell.until('...> ');
  shell.type("AS answer, 'x;' AS t;\r");
  await shell.until('│ answer │ t  │');
  await shell.until('│     42 │ x; │');
  await shell.until('1 row\n');
  shell.type('\\format json\rSELECT 1 AS a; SELECT 2 AS b;\r');
  await shell.until('{"a":1}\n{"b":2}\n');
  shell.type('SELECT FROM;\r');
  await shell.until('Error: Cannot execute command');
  shell.type('\\begin\rINSERT INTO N SET n = 1;\r');
  await shell.until('"n":1}\n');
  await shell.until('test*> ');
  shell.type('\\rollback\rSELECT count(*) AS c FROM N;\r');
  await shell.until('{"c":0}\n');
  shell.type("SELECT 1 AS password, 'swordfish' AS x;\r\\dance\r");
  await shell.until('There is no command \\dance');
  shell.type("SELECT 'p' AS x; -- password = 'swordfish'\r");
  await shell.until('{"x":"p"}');
  shell.type('help\r');
  await shell.until('Ctrl-D leaves');
  shell.type('SELECT /*\r\\quit\r');
  shell.type('  */ 5 AS z;\r');
  await shell.until('{"z":5}');
  shell.type(' SELECT 7,\r8 AS hidden;\r');
  await shell.until('"hidden":8');
  shell.type('SELECT 9\r\\help\r');
  await shell.until('Ctrl-D leaves');
  shell.type('\\quit\r');
  assert.equal(await shell.ended, 0);
  const history = join(directory, 'history');
  const kept = readFileSync(history, 'utf8');
  // An entry for each statement, on a line of the file.
  assert.match(kept, /^SELECT 41 \+ 1\rAS answer, 'x;' AS t;$/m);
  assert.doesNotMatch(kept, /-- password|hidden/);
  assert.match(kept, /^SELECT \/\*\r\\quit\r {2}\*\/ 5 AS z;$/m);
  assert.equal(statSync(history).mode & 0o777, 0o600);
});

test('a statement of several lines is recalled whole, in the next conversation too', async (context) => {
  const { open } = await commandLine(context);
  const [up, down] = ['\x1b[A', '\x1b[B'];
  const first = open(['cypher', 'test'], { NO_COLOR: '1' });
  await first.until('test> ');
  first.type('\\format json\rUNWIND [1, 2] AS x // two\rRETURN x + 1\r  AS y;\r');
  await first.until('{"y":2}\n{"y":3}\n');
  first.type('RETURN 7 AS z;\r');
  await first.until('{"z":7}\n');
  first.type(`${up}${up}\r`);
  await first.until('{"y":2}\n{"y":3}\n');
  // It is the newest now, and stands there once.
  first.type(`${up}${up}${down}\r`);
  await first.until('{"y":2}\n{"y":3}\n');
  first.type('\\rollback\r');
  await first.until('There is no transaction');
  first.type('\\quit\r');
  assert.equal(await first.ended, 0);
  const second = open(['cypher', 'test'], { NO_COLOR: '1' });
  await second.until('test> ');
  second.type(`${up.repeat(3)}\r`);
  await second.until('│ y │');
  second.type('\\quit\r');
  assert.equal(await second.ended, 0);
});

test('Ctrl-C ends the running statement, and the server hears of it', async (context) => {
  const { open, data } = await commandLine(context);
  const shell = open(['sql', 'test', '--language', 'sqlscript']);
  await shell.until('test> ');
  shell.type('SLEEP 50000;\r');
  await turnsUntil(() => data.active.count > 0);
  shell.type('\u0003');
  await shell.until('Stopped.');
  await turnsUntil(() => data.active.count === 0);
  shell.type('RETURN 7\u0003');
  shell.type('RETURN 8;\r');
  await shell.until('8');
  shell.type('\u0004');
  assert.equal(await shell.ended, 0);
});

test('a password is asked for at a terminal, and not shown', async (context) => {
  const { open } = await commandLine(context);
  const asked = open(['sql', 'test'], { POLYAD_PASSWORD: undefined });
  await asked.until('Password of root: ');
  asked.type('password\r');
  await asked.until('test> ');
  asked.type('RETURN 1;\r\u0004');
  assert.equal(await asked.ended, 0);
  assert.doesNotMatch(asked.shown(), /password/);
});
