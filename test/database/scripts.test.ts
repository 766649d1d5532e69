import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Access, Authorizer } from '#core/principal.ts';
import { openTestDatabase, root, type TestDatabase } from './support/open-test-database.ts';

// Scripts under concurrency, limits and rights; what they mean is in the golden files of test/language/sqlscript.

async function withDatabase(
  settings: Readonly<Record<string, string>>,
  use: (database: TestDatabase) => Promise<void>,
  authorizer?: Authorizer,
): Promise<void> {
  const database = await openTestDatabase({ settings, ...(authorizer && { authorizer }) });
  try {
    await use(database);
  } finally {
    await database.close();
  }
}

function script(database: TestDatabase, text: string, options = {}) {
  return database.run(text, {}, options, 'sqlscript');
}

async function errorOf(work: Promise<unknown>): Promise<DatabaseError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

test('COMMIT RETRY repeats a block until every writer has counted', async () => {
  await withDatabase({ txRetryDelay: '1' }, async (database) => {
    await database.run('CREATE DOCUMENT TYPE C');
    await database.run('INSERT INTO C SET n = 0');
    const text =
      'BEGIN ISOLATION REPEATABLE_READ; LET c = SELECT n FROM C; UPDATE C SET n = $c[0].n + 1; COMMIT RETRY 50';
    await Promise.all(Array.from({ length: 16 }, () => script(database, text)));
    assert.deepEqual(await database.run('SELECT n FROM C'), [{ n: 16 }]);
  });
});

test('LOCK TYPE lets scripts read and write one after the other', async () => {
  await withDatabase({ txRetryDelay: '1' }, async (database) => {
    await database.run('CREATE DOCUMENT TYPE C');
    await database.run('INSERT INTO C SET n = 0');
    const text = 'LOCK TYPE C; LET c = SELECT n FROM C; UPDATE C SET n = $c[0].n + 1';
    const locking = Array.from({ length: 8 }, () => script(database, text));
    const plain = Array.from({ length: 8 }, () => database.run('UPDATE C SET n += 1'));
    await Promise.all([...locking, ...plain]);
    assert.deepEqual(await database.run('SELECT n FROM C'), [{ n: 16 }]);
  });
});

test('a lock that is held too long is a LockTimeout that names the setting', async () => {
  await withDatabase({ commitLockTimeout: '20', txRetries: '1' }, async (database) => {
    await database.run('CREATE DOCUMENT TYPE C');
    const session = database.database.begin(root, 'READ_COMMITTED');
    await script(database, 'LOCK TYPE C', { sessionId: session });
    const error = await errorOf(script(database, 'LOCK TYPE C'));
    assert.equal(error.code, 'LockTimeout');
    assert.match(error.message, /commitLockTimeout/);
    assert.equal((await errorOf(database.run('INSERT INTO C SET n = 1'))).code, 'LockTimeout');
    await database.database.rollback(root, session);
    await script(database, 'LOCK TYPE C; INSERT INTO C SET n = 1');
  });
});

test('an upsert as a script makes one record, however many run at once', async () => {
  await withDatabase({ txRetryDelay: '1' }, async (database) => {
    await database.run('CREATE DOCUMENT TYPE U');
    await database.run('CREATE PROPERTY U.e STRING');
    await database.run('CREATE INDEX ON U (e) UNIQUE');
    const text =
      "LET old = SELECT FROM U WHERE e = 'x'; IF ($old.size() = 0) { INSERT INTO U SET e = 'x', n = 1 } ELSE { UPDATE U SET n += 1 WHERE e = 'x' }";
    await Promise.all(Array.from({ length: 12 }, () => script(database, text, { retries: 20 })));
    assert.deepEqual(await database.run('SELECT n FROM U'), [{ n: 12 }]);
  });
});

test('endless loops and sleeps end at command.timeout, with nothing written', async () => {
  await withDatabase({ 'command.timeout': '50' }, async (database) => {
    await database.run('CREATE DOCUMENT TYPE T');
    for (const text of [
      'INSERT INTO T SET a = 1; WHILE (true) { LET x = 1 }',
      'INSERT INTO T SET a = 1; WHILE (true) { }',
      'INSERT INTO T SET a = 1; SLEEP 50000',
      'INSERT INTO T SET a = 1; FOREACH (x IN [1, 2]) { WHILE (true) { SELECT FROM T } }',
    ])
      assert.equal((await errorOf(script(database, text))).code, 'Timeout', text);
    assert.deepEqual(await database.run('SELECT count(*) AS n FROM T'), [{ n: 0 }]);
  });
});

test('a script whose client leaves ends, asleep or busy', async () => {
  await withDatabase({}, async (database) => {
    for (const text of ['SLEEP 50000', 'WHILE (true) { LET x = 1 }']) {
      const leaving = new AbortController();
      const running = errorOf(script(database, text, { signal: leaving.signal }));
      await new Promise((resolve) => setImmediate(resolve));
      leaving.abort();
      assert.equal((await running).code, 'Cancelled', text);
    }
    assert.equal(database.active.count, 0);
  });
});

test('a script that waits for a lock ends when its client leaves, and holds nothing', async () => {
  await withDatabase({}, async (database) => {
    await database.run('CREATE DOCUMENT TYPE C');
    const session = database.database.begin(root, 'READ_COMMITTED');
    await script(database, 'LOCK TYPE C', { sessionId: session });
    const leaving = new AbortController();
    const running = errorOf(script(database, 'LOCK TYPE C', { signal: leaving.signal }));
    await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    assert.equal((await running).code, 'Cancelled');
    await database.database.rollback(root, session);
    await script(database, 'LOCK TYPE C; INSERT INTO C SET n = 1');
  });
});

test('values that grow without end are refused by a limit', async () => {
  await withDatabase({}, async (database) => {
    const text = "LET s = 'aaaaaaaaaaaaaaaa'; WHILE (true) { LET s = $s || $s }";
    assert.match((await errorOf(script(database, text))).message, /queryMaxValueSize/);
    const list = 'LET l = [1]; WHILE (true) { LET l = [$l, $l] }';
    assert.match(
      (await errorOf(script(database, list))).message,
      /queryMaxValueSize|nested deeper/,
    );
  });
  await withDatabase({ queryMaxMemory: '1048576' }, async (database) => {
    const text =
      "LET a = 'x'.append(''); LET i = 0; WHILE ($i < 19) { LET a = $a || $a; LET i = $i + 1 } LET b = $a || 'b', c = $a || 'c', d = $a || 'd'";
    assert.match((await errorOf(script(database, text))).message, /queryMaxMemory/);
  });
});

test('blocks that nest too deep are refused by name', async () => {
  await withDatabase({}, async (database) => {
    const text = 'IF (true) {'.repeat(300) + '}'.repeat(300);
    assert.match(
      (await errorOf(script(database, text))).message,
      /maxExpressionDepth|depth of 200/,
    );
  });
});

test('what the caller may not do is refused before anything of the script is done', async () => {
  const authorizer: Authorizer = {
    require(_principal, _database, access: Access) {
      if (access.effects.has('delete')) throw new DatabaseError('Forbidden', 'may not delete');
    },
    canAccess: () => true,
    canRead: () => true,
  };
  await withDatabase(
    {},
    async (database) => {
      await database.run('CREATE DOCUMENT TYPE T');
      const ada = { principal: { name: 'ada', isRoot: false, via: 'password' } };
      const sessionId = database.database.begin(ada.principal as never, 'READ_COMMITTED');
      const text = 'INSERT INTO T SET a = 1; IF (false) { DELETE FROM T }';
      assert.equal(
        (await errorOf(script(database, text, { ...ada, sessionId }))).code,
        'Forbidden',
      );
      // The refusal came first, so the session goes on.
      await script(database, 'INSERT INTO T SET a = 2', { ...ada, sessionId });
      const late = "LET t = 'T'; INSERT INTO $t SET a = 3; DELETE FROM $t";
      assert.equal((await errorOf(script(database, late, ada))).code, 'Forbidden');
      assert.deepEqual(await database.run('SELECT FROM T'), []);
    },
    authorizer,
  );
});

test('a conflict after an explicit COMMIT does not claim that nothing was done', async () => {
  await withDatabase({ txRetryDelay: '1' }, async (database) => {
    await database.run('CREATE DOCUMENT TYPE U');
    await database.run('CREATE PROPERTY U.e STRING');
    await database.run('CREATE INDEX ON U (e) UNIQUE');
    const text =
      "BEGIN; INSERT INTO U SET e = 'a'; COMMIT; INSERT INTO U SET e = 'b'; INSERT INTO U SET e = 'b'";
    const error = await errorOf(script(database, text));
    // A duplicated key claims nothing of that kind (sql.md 4), but may not be tried again either: 'a' would be the duplicate.
    assert.equal(error.code, 'DuplicatedKey');
    assert.match(error.message, /\[b\].*; what the script committed before is stored$/);
    assert.equal(error.arguments[0], 'U[e]');
    assert.deepEqual(await database.run('SELECT e FROM U'), [{ e: 'a' }]);
  });
});

test('large values read into variables outlive their snapshots', async () => {
  await withDatabase({}, async (database) => {
    await database.run('CREATE DOCUMENT TYPE T');
    const big = 'x'.repeat(300_000);
    await database.run('INSERT INTO T SET big = :big', { big });
    const rows = await script(
      database,
      'LET r = SELECT FROM T; INSERT INTO T SET a = 1; SELECT FROM T; RETURN $r[0].big.length()',
    );
    assert.deepEqual(rows, [{ value: 300_000 }]);
  });
});

test('the plan of the last statement is shown when it is asked for', async () => {
  await withDatabase({}, async (database) => {
    await database.run('CREATE DOCUMENT TYPE T');
    const planOf = async (text: string, options = {}) => {
      const result = await database.stream(text, {}, options, 'sqlscript');
      result.close();
      return result.summary().explain;
    };
    assert.match((await planOf('LET x = 1; EXPLAIN SELECT FROM T'))?.text ?? '', /SCAN T/);
    const profiled = await planOf('LET x = 1; PROFILE INSERT INTO T SET a = 1');
    assert.ok((profiled?.steps[0]?.cost ?? -1) >= 0);
    assert.deepEqual(await database.run('SELECT a FROM T'), [{ a: 1 }]);
    assert.match((await planOf('SELECT FROM T', { profile: 'basic' }))?.text ?? '', /SCAN T/);
    assert.equal(await planOf('SELECT FROM T'), undefined);
  });
});
