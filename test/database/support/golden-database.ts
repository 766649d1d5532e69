import { after } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { parseJson } from '#core/value/json-value.ts';
import type { Value } from '#core/value/value.ts';
import { type GoldenCase, runGoldenFile } from '#test/support/datadriven.ts';
import { openTestDatabase, root, type TestDatabase } from './open-test-database.ts';

/**
 * Golden files over one real database per file. Commands:
 *
 *     sql [params=JSON] [session=name] [query] [limit=n] [retries=n] [pieces]   one statement; rows or the error; `pieces`: sent
 *                              with `autoCommit: false`
 *     sqlscript, cypher        as sql, in that language
 *     lines [query] [session=name]   one statement per line, one line of rows or the error for each
 *     values                   one expression per line, one value or the error for each
 *     all                      one statement per line, each must work; prints how many rows each gave
 *     begin session=name [isolation=REPEATABLE_READ]
 *     commit session=name      `committed`, or the error
 *     rollback session=name
 *     index                    the index that the plan of a statement searches
 *     plan                     the plan of a statement; of Cypher when `language=cypher`
 *     reopen                   stop and start from disk
 */
export function runDatabaseGoldenFile(
  file: URL,
  open: () => Promise<TestDatabase> = openTestDatabase,
): void {
  let opened: Promise<TestDatabase> | undefined;
  const sessions = new Map<string, string>();
  after(async () => (await opened)?.close());
  runGoldenFile(file, async (golden) => {
    opened ??= open();
    return answer(await opened, sessions, golden);
  });
}

async function answer(
  test: TestDatabase,
  sessions: Map<string, string>,
  golden: GoldenCase,
): Promise<string> {
  const name = golden.options.get('session') ?? '';
  switch (golden.command) {
    case 'sql':
    case 'cypher':
    case 'sqlscript':
      return runOne(test, sessions, golden);
    case 'lines':
    case 'values':
      return eachLine(test, sessions, golden);
    case 'all':
      return runAll(test, golden.input);
    case 'begin': {
      const isRepeatable = golden.options.get('isolation') === 'REPEATABLE_READ';
      const isolation = isRepeatable ? 'REPEATABLE_READ' : 'READ_COMMITTED';
      sessions.set(name, test.database.begin(root, isolation));
      return 'begun';
    }
    case 'commit':
      await test.database.commit(root, sessions.get(name) ?? '');
      return 'committed';
    case 'rollback':
      await test.database.rollback(root, sessions.get(name) ?? '');
      return 'rolled back';
    case 'index':
      return searchedIndex(test, golden.input);
    case 'plan':
      return planOf(test, golden.input, golden.options.get('language'));
    case 'reopen':
      await test.reopen();
      return 'reopened';
    default:
      throw new Error(`unknown command ${golden.command}`);
  }
}

async function runOne(
  test: TestDatabase,
  sessions: ReadonlyMap<string, string>,
  { command, input, options }: GoldenCase,
): Promise<string> {
  const name = options.get('session');
  const sessionId = name === undefined ? undefined : (sessions.get(name) ?? 'AS-unknown');
  const limit = options.get('limit');
  const retries = options.get('retries');
  const overrides = {
    mustBeIdempotent: options.has('query'),
    ...(options.has('pieces') ? { autoCommit: false } : {}),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(limit === undefined ? {} : { rowCountMax: Number(limit) }),
    ...(retries === undefined ? {} : { retries: Number(retries) }),
  };
  const text = await test.print(input, parametersOf(options.get('params')), overrides, command);
  return text === '' ? 'no rows' : text;
}

async function eachLine(
  test: TestDatabase,
  sessions: ReadonlyMap<string, string>,
  golden: GoldenCase,
): Promise<string> {
  const answers: string[] = [];
  for (const line of golden.input.split('\n')) {
    const isValue = golden.command === 'values';
    const input = isValue ? `SELECT ${line} AS r` : line;
    answers.push(await oneLine(test, sessions, { ...golden, command: 'sql', input }, isValue));
  }
  return answers.join('\n');
}

async function oneLine(
  test: TestDatabase,
  sessions: ReadonlyMap<string, string>,
  golden: GoldenCase,
  isValue: boolean,
): Promise<string> {
  try {
    const text = (await runOne(test, sessions, golden)).replaceAll('\n', ' ');
    return isValue ? text.slice('{r: '.length, -1) : text;
  } catch (error) {
    if (error instanceof DatabaseError) return `error ${error.code}: ${error.message}`;
    throw error;
  }
}

function parametersOf(json: string | undefined): Readonly<Record<string, Value>> {
  if (json === undefined) return {};
  const map = parseJson(json) as ReadonlyMap<string, Value>;
  return Object.fromEntries(map);
}

async function runAll(test: TestDatabase, input: string): Promise<string> {
  const counts: number[] = [];
  for (const line of input.split('\n')) {
    if (line.trim() === '') continue;
    try {
      counts.push((await test.run(line)).length);
    } catch (error) {
      if (error instanceof DatabaseError) {
        throw new DatabaseError(error.code, `${error.message} (in: ${line})`);
      }
      throw error;
    }
  }
  return counts.join(' ');
}

async function searchedIndex(test: TestDatabase, input: string): Promise<string> {
  return /INDEX SEARCH (\S+)/.exec(await planOf(test, input))?.[1] ?? 'none';
}

async function planOf(test: TestDatabase, input: string, language = 'sql'): Promise<string> {
  const result = await test.stream(`EXPLAIN ${input}`, {}, {}, language);
  const plan = result.summary().explain;
  result.close();
  return plan?.text ?? '';
}
