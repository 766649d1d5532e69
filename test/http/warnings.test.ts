import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Warning } from '#core/warnings.ts';
import { startDatabaseDoor } from './database-door.ts';

// What answers warn of (house decision 80): slips that are no errors.

test('an answer without a slip has no field warnings', async (context) => {
  const { door } = await startDatabaseDoor(context);
  const fields = { language: 'sql', command: 'SELECT :a AS a', params: { a: null }, limit: -1 };
  const { body } = await door.ask('POST', 'command/test', { body: fields });
  assert.deepEqual(Object.keys(body), ['user', 'result', 'limit', 'returned', 'truncated']);
});

test('an unknown field of the body and the parameter that it leaves unbound are told', async (context) => {
  const { door } = await startDatabaseDoor(context);
  const fields = { language: 'sql', command: 'SELECT\n :a + ? AS a', parameters: { a: 1 } };
  for (const path of ['query/test', 'command/test']) {
    const { body } = await door.ask('POST', path, { body: fields });
    assert.deepEqual(body['warnings'], [
      {
        code: 'UnknownField',
        message: "field 'parameters' is unknown and was ignored; did you mean 'params'?",
      },
      {
        code: 'UnboundParameter',
        message: "parameter ':a' is not given, so it is null",
        position: { line: 2, column: 2, offset: 8, length: 1 },
      },
      {
        code: 'UnboundParameter',
        message: 'positional parameter 0 is not given, so it is null',
        position: { line: 2, column: 7, offset: 13, length: 1 },
      },
    ]);
  }
});

test('fields of commands are no slip on queries', async (context) => {
  const { door } = await startDatabaseDoor(context);
  const fields = { language: 'sql', command: 'SELECT 1', retries: 2, awaitResponse: true };
  const { body } = await door.ask('POST', 'query/test', { body: fields });
  assert.equal(body['warnings'], undefined);
});

test('rows that no limit of the request cut are told, in one piece and as lines', async (context) => {
  const settings = { 'server.httpQueryDefaultLimit': '3' };
  const { door } = await startDatabaseDoor(context, { ofDatabase: settings });
  const fields = { language: 'sql', command: 'SELECT expand([1,2,3,4])' };
  const { body } = await door.ask('POST', 'query/test', { body: fields });
  const message =
    "there are more rows than the 3 of service.server.httpQueryDefaultLimit; field 'limit' of the request asks for more";
  assert.deepEqual(body['warnings'], [{ code: 'RowsCut', message }]);
  const lines = await door.ask('POST', 'query/test', {
    body: fields,
    headers: { accept: 'application/x-ndjson' },
  });
  const last = lines.text.trim().split('\n').at(-1) ?? '';
  assert.deepEqual(JSON.parse(last), {
    stats: { limit: 3, returned: 3, truncated: true, warnings: [{ code: 'RowsCut', message }] },
  });
  const asked = await door.ask('POST', 'query/test', { body: { ...fields, limit: 2 } });
  assert.equal(asked.body['warnings'], undefined);
});

test('an edge type that does not exist is told wherever a traversal names it', async (context) => {
  const { door, data } = await startDatabaseDoor(context);
  await data.run('CREATE VERTEX TYPE V1');
  await data.run('CREATE EDGE TYPE Knows');
  const told = async (command: string, language = 'sql'): Promise<readonly unknown[]> => {
    const { body } = await door.ask('POST', 'query/test', { body: { language, command } });
    const warnings = (body['warnings'] ?? []) as readonly Warning[];
    return warnings.map(({ code, message, position }) => [code, message, position?.offset]);
  };
  const message =
    "there is no edge type 'Knws', so nothing is found along it; did you mean 'Knows'?";
  const of = (offset: number) => [['UnknownEdgeType', message, offset]];
  assert.deepEqual(await told("SELECT out('Knws') FROM V1"), of(11));
  assert.deepEqual(await told("SELECT @this.bothE('Knows', 'Knws') FROM V1"), of(28));
  assert.deepEqual(await told('MATCH {type: V1, as: a}-Knws->{as: b} RETURN b'), of(24));
  assert.deepEqual(await told("MATCH {type: V1, as: a}.out('Knws'){as: b} RETURN b"), of(28));
  assert.deepEqual(await told("LET a = 1; SELECT out('Knws') FROM V1", 'sqlscript'), of(22));
  assert.deepEqual(await told("SELECT out('Knows') FROM V1"), []);
});

test('a full scan of many records for want of an index is told; an index ends it', async (context) => {
  const { door, data } = await startDatabaseDoor(context);
  await data.run('CREATE DOCUMENT TYPE T');
  await data.run('CREATE PROPERTY T.name STRING');
  const script =
    'LET i = 0; WHILE ($i < 1000) { INSERT INTO T SET name = $i.asString(), a = $i; LET i = $i + 1; }';
  const made = await door.ask('POST', 'command/test', {
    body: { language: 'sqlscript', command: script },
  });
  assert.equal(made.status, 200, made.text);
  const told = async (command: string): Promise<unknown> => {
    const { body } = await door.ask('POST', 'command/test', { body: { language: 'sql', command } });
    return body['warnings'];
  };
  const warning = {
    code: 'FullScan',
    message:
      "all 1000 records of type 'T' are read, since no index on 'name' serves this condition",
    position: { line: 1, column: 21, offset: 20, length: 4 },
  };
  assert.deepEqual(await told("SELECT FROM T WHERE name = 'x'"), [warning]);
  assert.deepEqual(await told("UPDATE T SET b = 1 WHERE a > 990 AND 'x' < name"), [
    {
      ...warning,
      message: warning.message.replace("'name'", "'a'"),
      position: { ...warning.position, column: 26, offset: 25, length: 1 },
    },
  ]);
  const twice =
    "SELECT (SELECT count(*) FROM T WHERE name = 'x'), (SELECT FROM T WHERE name = 'y')";
  const asked = (await told(twice)) as readonly Warning[];
  assert.deepEqual(
    asked.map(({ message }) => message),
    [warning.message],
  );
  assert.equal(await told('SELECT FROM T LIMIT 1'), undefined);
  await data.run('CREATE INDEX ON T (name) NOTUNIQUE');
  assert.equal(await told("SELECT FROM T WHERE name = 'x'"), undefined);
});

test('a group that does not exist is told when a user gets it', async (context) => {
  const { door } = await startDatabaseDoor(context);
  const user = { name: 'kim', password: 'a-good-password', databases: { test: ['redaer'] } };
  const codes = (body: Readonly<Record<string, unknown>>): unknown =>
    (body['warnings'] as readonly Warning[] | undefined)?.map(({ code }) => code);
  const made = await door.ask('POST', 'server/users', { body: { ...user, roles: [] } });
  assert.equal(made.status, 201);
  assert.deepEqual(codes(made.body), ['UnknownField', 'UnknownGroup']);
  const databases = { test: ['admin'] };
  const good = await door.ask('PUT', 'server/users?name=kim', { body: { databases } });
  assert.equal(codes(good.body), undefined);
  const command = `create user ${JSON.stringify({ ...user, name: 'lee' })}`;
  const byCommand = await door.ask('POST', 'server', { body: { command } });
  assert.deepEqual(codes(byCommand.body), ['UnknownGroup']);
});
