import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flags, type Flag } from '#mcp/policy/configuration.ts';
import { type McpFixture, startMcp } from '../mcp-fixture.ts';

// Which permissions a statement needs (mcp.md 5): each row is tried with one flag missing at a time, so it tells exactly which.

/** Schema first: what makes a type or index does it once. */
const flagOf: Readonly<Record<string, Flag>> = {
  s: 'allowSchemaChange',
  a: 'allowAdmin',
  d: 'allowDelete',
  i: 'allowInsert',
  r: 'allowReads',
  u: 'allowUpdate',
};

const table: readonly (readonly [language: string, statement: string, needed: string])[] = [
  ['sql', 'SELECT FROM P', 'r'],
  ['sql', 'MATCH {type: P, as: p} RETURN p', 'r'],
  ['sql', 'TRAVERSE out() FROM P', 'r'],
  ['sql', 'EXPLAIN DELETE FROM P', 'r'],
  ['sql', "SELECT FROM P WHERE a = 'INSERT INTO P' /* DELETE FROM P */", 'r'],
  ['sql', 'CHECK DATABASE', 'r'],
  ['sql', 'INSERT INTO P SET a = 1', 'i'],
  ['sql', 'CREATE VERTEX P SET a = 2', 'i'],
  ['sql', 'UPDATE P SET b = 1 UPSERT WHERE a = 50', 'iru'],
  ['sql', 'DELETE FROM P WHERE a = 2', 'dr'],
  ['sql', 'DELETE VERTEX FROM P WHERE a = 2', 'dr'],
  ['sql', 'TRUNCATE TYPE Q', 'd'],
  ['sql', 'MOVE VERTEX (SELECT FROM P WHERE a = 1) TO TYPE:M', 'diru'],
  ['sql', 'CREATE DOCUMENT TYPE R IF NOT EXISTS', 's'],
  ['sql', 'CREATE PROPERTY P.c IF NOT EXISTS STRING', 's'],
  ['sql', 'CREATE INDEX IF NOT EXISTS ON P (c) NOTUNIQUE', 's'],
  ['sql', 'ALTER TYPE P CUSTOM x = 1', 's'],
  ['sql', 'DROP INDEX `P[c]` IF EXISTS', 's'],
  ['sql', 'ALTER DATABASE dateFormat "yyyy"', 'a'],
  ['sql', 'EXPORT DATABASE file://x', 'a'],
  ['sql', 'CHECK DATABASE FIX', 'a'],
  ['sqlscript', 'LET a = SELECT 1; RETURN $a', 'r'],
  ['sqlscript', 'BEGIN; INSERT INTO P SET a = 3; COMMIT; RETURN 1', 'ir'],
  ['sqlscript', 'IF (1 = 2) { DELETE FROM P; } INSERT INTO P SET a = 4; RETURN 1', 'dir'],
  ['cypher', 'MATCH (p:P) RETURN p', 'r'],
  ['cypher', 'CREATE (:P {a: 5})', 'i'],
  ['cypher', 'MATCH (p:P) SET p.b = 1', 'ru'],
  ['cypher', 'MATCH (p:P) REMOVE p.b', 'ru'],
  ['cypher', 'MATCH (p:P {a: 5}) DETACH DELETE p', 'dr'],
  ['cypher', 'MERGE (p:P {a: 60}) RETURN p', 'iru'],
  ['cypher', 'MERGE (p:NotThereYet {a: 60}) RETURN p', 'irsu'],
  ['cypher', 'FOREACH (n IN [61] | MERGE (:P {a: n}))', 'iru'],
  ['cypher', 'MATCH (p:P) CALL { MERGE (:P {a: 62}) } RETURN p', 'iru'],
  ['cypher', 'FOREACH (n IN [6] | CREATE (:P {a: n}))', 'i'],
  ['cypher', 'MATCH (p:P) CALL { CREATE (:P {a: 7}) } RETURN p', 'ir'],
  ['cypher', 'RETURN 1 AS a UNION MATCH (p:P {a: 9}) DELETE p RETURN 2 AS a', 'dr'],
  ['cypher', 'CREATE INDEX named FOR (p:P) ON (p.z)', 's'],
  ['redis', 'GET k', 'r'],
  ['redis', 'PING', 'r'],
  ['redis', 'HMGET P[a] 1 2', 'r'],
  ['redis', 'SET k 1', 'iru'],
  ['redis', 'INCR n', 'iru'],
  ['redis', 'GETDEL k', 'dr'],
  ['redis', 'HSET P {"a": 8}', 'iru'],
  ['redis', 'HMSET P {"a": 9}', 'iru'],
  ['redis', 'HDEL P[a] 8 9', 'dr'],
  ['redis', '# HDEL P[a] 8\nGET k\nSET k 2', 'iru'],
  ['redis', 'MULTI\nSET k 1\nHSET P {"a": 10}\nEXEC', 'iru'],
  ['redis', 'MULTI\nGET k\nEXEC', 'r'],
  ['redis', 'MULTI\nHDEL P[a] 10\nEXEC', 'dr'],
  ['redis', 'MULTI\nHDEL P[a] 10\nDISCARD', 'r'],
];

function sorted(letters: string): string {
  return [...letters].sort().join('');
}

async function neededBy(
  { tool, configure }: McpFixture,
  language: string,
  command: string,
): Promise<string> {
  let needed = '';
  for (const [letter, flag] of Object.entries(flagOf)) {
    await configure({ [flag]: false });
    const { text } = await tool('execute_command', { database: 'test', language, command });
    if (/ are not allowed by MCP configuration$/.test(text)) needed += letter;
    await configure({ [flag]: true });
  }
  return needed;
}

test('every statement needs the permissions of what it does, and no others', async (context) => {
  const mcp = await startMcp(context);
  await mcp.configure(Object.fromEntries(flags.map((flag) => [flag, true])));
  for (const statement of [
    'CREATE VERTEX TYPE P',
    'CREATE PROPERTY P.a INTEGER',
    'CREATE INDEX ON P (a) UNIQUE',
    'CREATE DOCUMENT TYPE Q',
    'CREATE VERTEX TYPE M',
  ])
    await mcp.data.run(statement);
  const found: (readonly string[])[] = [];
  for (const [language, statement] of table)
    found.push([language, statement, sorted(await neededBy(mcp, language, statement))]);
  assert.deepEqual(
    found,
    table.map(([language, statement, needed]) => [language, statement, sorted(needed)]),
  );
});
