import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#core/log.ts';
import { openTestDatabase, root, type TestDatabase } from './support/open-test-database.ts';

// What ends a statement before its time, and what is left then.

async function withRows(
  count: number,
  run: (test: TestDatabase) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const database = await openTestDatabase({ settings });
  try {
    await database.run('CREATE DOCUMENT TYPE N');
    const rows = Array.from({ length: count }, (_, n) => `(${n})`);
    await database.run(`INSERT INTO N (n) VALUES ${rows.join()}`);
    await run(database);
  } finally {
    await database.close();
  }
}

/** Some 10^10 rows: never done. */
const endless =
  'SELECT count(*) AS c FROM (MATCH {type: N, as: x}, {type: N, as: y}, {type: N, as: z} RETURN x.n AS n)';

test('a statement ends at command.timeout and names the setting; its session survives', () =>
  withRows(2_000, async ({ database, run }) => {
    await database.setSetting('command.timeout', '50');
    await assert.rejects(run(endless), {
      code: 'Timeout',
      message: /service\.command\.timeout \(50 ms\)/,
    });
    const sessionId = database.begin(root, 'READ_COMMITTED');
    await assert.rejects(run(endless, {}, { sessionId }), { code: 'Timeout' });
    assert.deepEqual(await run('SELECT 1 AS one', {}, { sessionId }), [{ one: 1 }]);
  }));

test('a statement ends when its client leaves; a write leaves nothing', () =>
  withRows(3_000, async ({ run, active }) => {
    const client = new AbortController();
    const reading = assert.rejects(run(endless, {}, { signal: client.signal }), {
      code: 'Cancelled',
    });
    const writing = assert.rejects(
      run(`UPDATE N SET m = (${endless})`, {}, { signal: client.signal }),
      { code: 'Cancelled' },
    );
    while (active.count < 2) await new Promise((resolve) => setImmediate(resolve));
    client.abort();
    await reading;
    await writing;
    assert.equal(active.count, 0);
    assert.deepEqual(await run('SELECT count(*) AS c FROM N WHERE m IS DEFINED'), [{ c: 0 }]);
  }));

test('a running statement can be seen and cancelled by its id', () =>
  withRows(3_000, async ({ run, active }) => {
    const refused = assert.rejects(run(endless), {
      code: 'Cancelled',
      message: /statement \d+ was cancelled/,
    });
    while (active.count === 0) await new Promise((resolve) => setImmediate(resolve));
    const [statement] = active.list();
    assert.equal(statement?.text, endless);
    assert.equal(statement?.user, 'root');
    assert.ok(active.cancel(statement?.id ?? 0));
    await refused;
    assert.ok(!active.cancel(statement?.id ?? 0));
  }));

test('a stream that nobody reads lets go of its snapshot at maxSnapshotAge, and says so', () =>
  withRows(
    3_000,
    async ({ stream }) => {
      const result = await stream('SELECT n FROM N');
      await result.nextBatch();
      await new Promise((resolve) => setTimeout(resolve, 1_050));
      await assert.rejects(result.nextBatch(), { code: 'Busy', message: /maxSnapshotAge/ });
      result.close();
    },
    { 'server.maxSnapshotAge': '1' },
  ));

test('other statements are answered while a long one runs', () =>
  withRows(3_000, async ({ run, active }) => {
    const client = new AbortController();
    const refused = assert.rejects(run(endless, {}, { signal: client.signal }), {
      code: 'Cancelled',
    });
    while (active.count === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let n = 0; n < 20; n += 1) {
      assert.deepEqual(await run('SELECT n FROM N WHERE n = 7'), [{ n: 7 }]);
    }
    client.abort();
    await refused;
  }));

test('what a statement holds is bounded, and given back', () =>
  withRows(
    2_000,
    async ({ run }) => {
      await run("UPDATE N SET text = 'x'.append('0123456789'.append('0123456789'))");
      const sort = 'SELECT n, text.append(n.asString()) AS t FROM N ORDER BY t';
      await assert.rejects(run(`${sort} LIMIT 100000`), {
        code: 'IllegalArgument',
        message: /queryMaxHeapElementsAllowedPerOp/,
      });
      for (let n = 0; n < 5; n += 1) await run('SELECT n FROM N ORDER BY n LIMIT 10');
    },
    { queryMaxHeapElementsAllowedPerOp: '1000' },
  ));

test('dropping a database ends its statements and sessions', () =>
  withRows(3_000, async ({ run, database, databases, stream, active }) => {
    const sessionId = database.begin(root, 'READ_COMMITTED');
    await run('INSERT INTO N SET n = -1', {}, { sessionId });
    const running = assert.rejects(run(endless), { code: 'DatabaseNotFound' });
    const result = await stream('SELECT n FROM N');
    await result.nextBatch();
    while (active.count < 2) await new Promise((resolve) => setImmediate(resolve));
    await databases.drop('test');
    await running;
    await assert.rejects(result.nextBatch(), { code: 'DatabaseNotFound' });
    assert.throws(() => databases.open('test'), { code: 'DatabaseNotFound' });
    assert.ok(!database.hasSession(root, sessionId));
    await databases.create('test');
  }));

test('closing a database refuses further statements until it is opened; data is kept', () =>
  withRows(10, async ({ run, database, databases }) => {
    await databases.close('test');
    await assert.rejects(
      async () =>
        database.run(
          { language: 'sql', text: 'SELECT 1', parameters: new Map() },
          { principal: root, mustBeIdempotent: true, signal: new AbortController().signal },
        ),
      { code: 'DatabaseClosed' },
    );
    await databases.openClosed('test');
    assert.deepEqual(await run('SELECT count(*) AS c FROM N'), [{ c: 10 }]);
  }));

test('a setting of the database holds at once, survives a restart and stands above the server', () =>
  withRows(
    1,
    async (opened) => {
      assert.equal(opened.database.formats().dateFormat, 'dd.MM.yyyy');
      await opened.database.setSetting('dateFormat', 'yyyy/MM/dd');
      assert.equal(opened.database.formats().dateFormat, 'yyyy/MM/dd');
      await assert.rejects(opened.database.setSetting('dateFormatt', 'x'), {
        code: 'InvalidSetting',
      });
      await assert.rejects(opened.database.setSetting('server.name', 'x'), {
        code: 'InvalidSetting',
      });
      await assert.rejects(opened.database.setSetting('txRetries', 'many'), {
        code: 'InvalidSetting',
      });
      await opened.reopen();
      assert.equal(opened.database.formats().dateFormat, 'yyyy/MM/dd');
    },
    { dateFormat: 'dd.MM.yyyy' },
  ));

test('asynchronous commands run in order and are visible soon; errors go to the log with the request id', async () => {
  const failed: unknown[] = [];
  const log = { ...silentLog, error: (_m: string, fields?: object) => void failed.push(fields) };
  const opened = await openTestDatabase({ log });
  try {
    await opened.run('CREATE DOCUMENT TYPE Q');
    const options = {
      principal: root,
      mustBeIdempotent: false,
      signal: new AbortController().signal,
    };
    const later = (text: string, requestId: string): Promise<void> =>
      opened.database.runLater(
        { language: 'sql', text, parameters: new Map() },
        { ...options, requestId },
      );
    await later('INSERT INTO Q SET id = 1, log = [0]', 'a');
    for (let n = 1; n <= 20; n += 1) await later(`UPDATE Q SET log += ${n} WHERE id = 1`, `u${n}`);
    await later('INSERT INTO Missing SET a = 1', 'wrong');
    await later('CREATE DOCUMENT TYPE Later', 'ddl');
    await later('INSERT INTO Later SET a = 1', 'b');
    while (opened.databases.counters().asyncCompleted < 24)
      await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(await opened.run('SELECT log FROM Q'), [
      { log: Array.from({ length: 21 }, (_, n) => n) },
    ]);
    assert.deepEqual(await opened.run('SELECT a FROM Later'), [{ a: 1 }]);
    assert.equal(failed.length, 1);
    assert.match(JSON.stringify(failed[0]), /"requestId":"wrong"/);
    await assert.rejects(
      opened.database.runLater({ language: 'klingon', text: '', parameters: new Map() }, options),
      { code: 'IllegalArgument' },
    );
  } finally {
    await opened.close();
  }
});

test('a committed request is known by its replay key, also after a restart, for as long as answers are kept', () =>
  withRows(
    1,
    async (opened) => {
      const { run } = opened;
      await run('UPDATE N SET n += 1', {}, { replayKey: 'first' });
      await run('SELECT FROM N', {}, { replayKey: 'read' });
      await assert.rejects(run('UPDATE N SET n = 1 / 0', {}, { replayKey: 'failed' }));
      assert.ok((opened.database.committedUnder('first') ?? 0) > 0);
      assert.equal(opened.database.committedUnder('read'), undefined);
      assert.equal(opened.database.committedUnder('failed'), undefined);
      await run('UPDATE N SET n += 1', {}, { replayKey: 'second' });
      await opened.reopen();
      assert.ok((opened.database.committedUnder('first') ?? 0) > 0);
      assert.ok((opened.database.committedUnder('second') ?? 0) > 0);
      assert.equal(opened.database.committedUnder('failed'), undefined);
      assert.equal(opened.database.committedUnder('unknown'), undefined);
    },
    { 'ha.idempotencyCacheTtlMs': '60000' },
  ));

test('a script that failed after a COMMIT of its own is not remembered as done', () =>
  withRows(1, async ({ database, run }) => {
    const script = (end: string, replayKey: string) =>
      run(`BEGIN; UPDATE N SET n += 1; COMMIT; ${end}`, {}, { replayKey }, 'sqlscript');
    await assert.rejects(script('UPDATE N SET n = 1 / 0', 'half'), /by zero/);
    assert.equal(database.committedUnder('half'), undefined);
    await script('RETURN 1', 'whole');
    assert.ok((database.committedUnder('whole') ?? 0) > 0);
  }));

test('writes that would not fit into the memory of the server are refused, and nothing is left of them', () =>
  withRows(
    1,
    async ({ database, run }) => {
      const loader = database.bulkLoader();
      const values = Array.from({ length: 30_000 }, (_, n) => n + 1);
      await loader.addRecords({ type: 'N', columns: ['n'], values, rowCount: values.length });
      await loader.finish();
      await assert.rejects(run('UPDATE N SET m = 1'), {
        code: 'Busy',
        message: /service\.server\.queryMaxMemory \(2097152\)/,
      });
      assert.deepEqual(await run('SELECT count(*) AS c FROM N WHERE m IS DEFINED'), [{ c: 0 }]);
      assert.deepEqual(await run('UPDATE N SET m = 1 WHERE n < 1000'), [{ count: 1_000 }]);
    },
    { 'server.queryMaxMemory': '2097152' },
  ));
