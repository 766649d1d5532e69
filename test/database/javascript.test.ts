import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runDatabaseGoldenFile } from './support/golden-database.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Triggers and functions in JavaScript: what they do, and that nothing they do reaches beyond them.

runDatabaseGoldenFile(new URL('./javascript.txt', import.meta.url));

let db: TestDatabase;

before(async () => {
  db = await openTestDatabase({
    settings: { 'polyglotCommand.timeout': '200', 'polyglotCommand.maxMemory': '32' },
  });
});
after(() => db.close());

let count = 0;

/** The value of a function with this body, called once. */
async function resultOf(body: string, database = db): Promise<unknown> {
  count += 1;
  const name = `lib.f${count}`;
  const text = body.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  await database.run(`DEFINE FUNCTION ${name} "${text}" LANGUAGE js`);
  const [row] = await database.run(`SELECT \`${name}\`() AS v`);
  return row?.['v'];
}

test('a script that does not end is stopped in the name of its setting, wherever it hangs', async () => {
  for (const body of [
    'for (;;) {}',
    'while (true) try { while (true); } finally { continue }',
    'Promise.resolve().then(function again() { Promise.resolve().then(again) })',
    'throw { get message() { for (;;); } }',
    'return { toJSON() { for (;;); } }',
    'return /(a+)+b/.test("a".repeat(60))',
  ])
    await assert.rejects(resultOf(body), {
      code: 'Timeout',
      message: /takes longer than service\.polyglotCommand\.timeout \(200 ms\)/,
    });
  assert.equal(await resultOf('return 1'), 1);
});

test('a script that takes all memory is ended, and the next one runs', async () => {
  for (const body of [
    'const all = []; for (;;) all.push("x".repeat(1000) + all.length)',
    'return "x".repeat(2 ** 29 - 24).split("").length',
  ])
    await assert.rejects(resultOf(body), { message: /polyglotCommand\.(maxMemory|timeout)/ });
  assert.equal(await resultOf('return "still here"'), 'still here');
});

test('no way leads out of a script', async (context) => {
  // On a busy machine some of them take longer than the time that the others have.
  const patient = await openTestDatabase();
  context.after(() => patient.close());
  for (const body of [
    "return this.constructor.constructor('return process')().pid",
    "return Function('return process')().pid",
    "return eval('1')",
    "return (async () => {}).constructor('return process')()",
    "return (function* () {}).constructor('yield process')().next()",
    "function deep() { try { return deep() } catch (e) { return e.constructor.constructor('return process')() } } return deep()",
    'return process.pid',
    "return require('fs')",
    "return import('node:fs')",
    'return new Uint8Array(1)',
    'return new WebAssembly.Module(1)',
    "return fetch('http://localhost')",
    'return setTimeout(() => {}, 0)',
    "return database.query('sql', 'SELECT 1')",
  ])
    await assert.rejects(
      resultOf(body, patient),
      { code: 'CommandExecution', message: /lib\.f\d+/ },
      body,
    );
  assert.equal(
    await resultOf(
      'return [typeof process, typeof require, typeof module, typeof Buffer].join()',
      patient,
    ),
    'undefined,undefined,undefined,undefined',
  );
  assert.equal(await resultOf('return String(arguments.callee.caller)', patient), 'null');
  // Errors of the process's own world reach a script in microtasks; they open nothing either.
  await resultOf(
    "import('node:fs').catch((e) => { globalThis.leak = e.constructor.constructor('return process')() })",
    patient,
  );
  const stack =
    'Error.prepareStackTrace = (_, sites) => sites.map((site) => String(site.getThis?.()?.process) + String(site.getFunction?.()?.caller)); return new Error().stack.join()';
  assert.doesNotMatch(String(await resultOf(stack, patient)), /\[object process\]|native code/);
});

test('a script changes nothing in the world of its process', async () => {
  await db.run('CREATE DOCUMENT TYPE Few');
  for (let n = 0; n < 4; n += 1) await db.run('INSERT INTO Few SET n = :n', { n });
  // The error of an import is an object of that world.
  const body =
    "const seen = globalThis.seen; import('node:x').catch((e) => { let p = e; while (Object.getPrototypeOf(p)) p = Object.getPrototypeOf(p); globalThis.seen = String(p.evil); p.evil = 'left' }); return String(seen)";
  await db.run(`DEFINE FUNCTION lib.pollute "${body}" LANGUAGE js`);
  const rows = await db.run('SELECT `lib.pollute`() AS v FROM Few');
  assert.equal(rows.at(-1)?.['v'], 'undefined');
});

test('a script that forges what its process says ends nothing but itself', async () => {
  await db.run('CREATE DOCUMENT TYPE Forged');
  const forge = (json: string) =>
    `Object.prototype.toJSON = function () { return ${json} }; database.command('sql', 'SELECT 1'); return 1`;
  for (const json of [
    'null',
    '5',
    '({result: 5, changes: {set: null, removed: 1}})',
    '({result: "1"})',
  ]) {
    await db.run(
      `CREATE TRIGGER forged BEFORE CREATE ON Forged EXECUTE JAVASCRIPT "${forge(json).replaceAll('"', "'")}"`,
    );
    const outcome = await db.run('INSERT INTO Forged SET n = 1').then(
      () => undefined,
      (error: unknown) => (error as { code?: string }).code,
    );
    // A busy machine may not let the process say it in the time of a script.
    const isExpected = ['CommandExecution', 'Timeout', undefined].includes(outcome);
    assert.ok(isExpected, `${json}: ${outcome}`);
    await db.run('DROP TRIGGER forged');
    assert.equal(await resultOf('return 1'), 1, json);
  }
});

test('a script that sets off one that ends the process learns why', async () => {
  await db.run('CREATE DOCUMENT TYPE Outer1');
  await db.run('CREATE DOCUMENT TYPE Inner1');
  await db.run(
    'CREATE TRIGGER endless BEFORE CREATE ON Inner1 EXECUTE JAVASCRIPT "throw { get message() { for (;;); } }"',
  );
  await db.run(
    `CREATE TRIGGER sets BEFORE CREATE ON Outer1 EXECUTE JAVASCRIPT "database.command('sql', 'INSERT INTO Inner1 SET n = 1')"`,
  );
  await assert.rejects(db.run('INSERT INTO Outer1 SET n = 1'), /trigger '(sets|endless)'/);
  assert.equal(await resultOf('return 1'), 1);
});

test('what a script changes in its world is gone for the others', async () => {
  assert.equal(
    await resultOf(
      "Object.prototype.polluted = 1; Array.prototype.push = null; JSON.stringify = () => 'evil'; globalThis.left = 1; return 'done'",
    ),
    'done',
  );
  assert.equal(await resultOf('return String({}.polluted) + typeof left'), 'undefinedundefined');
  assert.deepEqual(await resultOf('const a = []; a.push(1); return a'), [1]);
  await db.run('CREATE DOCUMENT TYPE P');
  await db.run(
    `CREATE TRIGGER p BEFORE CREATE ON P EXECUTE JAVASCRIPT "record.__proto__ = {evil: 1}; record['constructor'] = 2; record.ok = true"`,
  );
  const [row] = await db.run('INSERT INTO P SET n = 1');
  assert.deepEqual([row?.['n'], row?.['ok'], row?.['evil']], [1, true, undefined]);
  assert.equal(({} as { evil?: unknown }).evil, undefined);
});

test('a function that is called for many records keeps one world while the statement runs', async () => {
  await db.run(
    'DEFINE FUNCTION state.next "globalThis.n = (globalThis.n ?? 0) + 1; return n" LANGUAGE js',
  );
  await db.run('CREATE DOCUMENT TYPE Many');
  for (let n = 0; n < 50; n += 1) await db.run('INSERT INTO Many SET n = :n', { n });
  const rows = await db.run('SELECT `state.next`() AS v FROM Many');
  assert.equal(rows.at(-1)?.['v'], 50);
  assert.deepEqual(await db.run('SELECT `state.next`() AS v'), [{ v: 1 }]);
});

test('triggers and functions in JavaScript are there after a restart', async () => {
  await db.run('DEFINE FUNCTION kept.f "return x * 2" PARAMETERS [x] LANGUAGE js');
  await db.run('CREATE DOCUMENT TYPE Kept');
  await db.run('CREATE TRIGGER kept BEFORE CREATE ON Kept EXECUTE JAVASCRIPT "record.n = 1"');
  await db.reopen();
  assert.deepEqual(await db.run('SELECT `kept.f`(21) AS v'), [{ v: 42 }]);
  const [row] = await db.run('INSERT INTO Kept SET a = 1');
  assert.equal(row?.['n'], 1);
});

test('numbers that are none keep their names, in lists and records as well', async () => {
  assert.deepEqual(await resultOf('return [0 / 0, 1 / 0, -1 / 0, {n: 0 / 0}, 1.5]'), [
    'NaN',
    'PosInfinity',
    'NegInfinity',
    { n: 'NaN' },
    1.5,
  ]);
  assert.equal(await resultOf('return 1 / 0'), 'PosInfinity');
});

test('the stack of an error names no file of the server', async () => {
  for (const body of [
    'return new Error("x").stack',
    'Error.stackTraceLimit = 100; return new Error("x").stack',
    'Object.defineProperty(Error, "stackTraceLimit", {value: 100}); return new Error("x").stack',
    'try { null.x } catch (error) { return error.stack }',
    'const f = () => f(); try { f() } catch (error) { return error.stack }',
    'const o = {}; Error.captureStackTrace(o); return o.stack',
    'Error.prepareStackTrace = (_, frames) => frames.map((f) => f.getFileName()).join(); return new Error("x").stack',
  ]) {
    const stack = await resultOf(body).catch((error: Error) => error.message);
    assert.doesNotMatch(String(stack), /mjs|file:|node:|\//, body);
  }
});

test('a script has its own time, not that of bodies', async (context) => {
  const own = await openTestDatabase({ settings: { 'sql.maxBodyTime': '400' } });
  context.after(() => own.close());
  const wait = 'const end = Date.now() + 500; while (Date.now() < end); return 1';
  await own.run(`DEFINE FUNCTION lib.slow "${wait}" LANGUAGE js`);
  await own.run('DEFINE FUNCTION outer.slow "SELECT `lib.slow`() AS result" LANGUAGE sql');
  assert.deepEqual(await own.run('SELECT `lib.slow`() AS a, `outer.slow`() AS b'), [
    { a: 1, b: 1 },
  ]);
});
