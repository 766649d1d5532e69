import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { parseJson } from '#core/value/json-value.ts';
import type { Value } from '#core/value/value.ts';
import { openTestDatabase, root, type TestDatabase } from './open-test-database.ts';

/**
 * Tables of statements, one a line, with what must come out behind it, for sentences of the reference that need many small
 * cases:
 *
 *     = 1 + 2 * 3 => 7                                the value of an expression
 *     > SELECT n FROM T => {n: 1} ; {n: 2}            rows in the notation of `printValue`; `*`: any; `-`: none
 *     > SELECT FROM Nope !! Schema ~ Nope             an error: its code, and parts of its message or help
 *     $ LET $a = 1; RETURN $a => {value: 1}           a script
 *     params {"p":1}                                  parameters of the next line
 *     begin | rollback | fresh                        a session; its end; another, empty database
 *     # a comment
 *
 * `REWRITE=1` records outputs and codes instead of comparing them.
 */
export function runStatementTable(file: URL): void {
  const name = file.pathname.split('/').slice(-2).join('/');
  test(`statements of ${name}`, async () => {
    const lines = readFileSync(file, 'utf8').split('\n');
    const table = new Table(await openTestDatabase());
    const failures: string[] = [];
    try {
      for (const [at, line] of lines.entries()) {
        const actual = await table.actual(line);
        if (actual !== line) failures.push(`${name}:${at + 1}\n  ${line}\n  ${actual}`);
        lines[at] = actual;
      }
    } finally {
      await table.close();
    }
    if (process.env['REWRITE'] === '1') writeFileSync(file, lines.join('\n'));
    else
      assert.equal(failures.length, 0, `${failures.length} lines differ\n${failures.join('\n')}`);
  });
}

class Table {
  #database: TestDatabase;
  #parameters: Readonly<Record<string, Value>> = {};
  #session: string | undefined;

  constructor(database: TestDatabase) {
    this.#database = database;
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** The line as it should stand there. */
  async actual(line: string): Promise<string> {
    const [word = ''] = line.split(' ', 1);
    const rest = line.slice(word.length + 1);
    switch (word) {
      case 'params':
        this.#parameters = Object.fromEntries(parseJson(rest) as ReadonlyMap<string, Value>);
        return line;
      case 'fresh':
        await this.#database.close();
        this.#database = await openTestDatabase();
        return line;
      case 'begin':
        this.#session = this.#database.database.begin(root, 'READ_COMMITTED');
        return line;
      case 'rollback':
        await this.#database.database.rollback(root, this.#session ?? '');
        this.#session = undefined;
        return line;
      case '=':
      case '>':
      case '$':
        return `${word} ${await this.#ran(word, rest)}`;
      default:
        return line;
    }
  }

  async #ran(word: string, line: string): Promise<string> {
    const [, statement = line, sign, expected = ''] = /^(.*?) (=>|!!)(?: (.*))?$/u.exec(line) ?? [];
    const text = word === '=' ? `SELECT ${statement} AS x` : statement;
    const outcome = await this.#outcome(text, word === '$' ? 'sqlscript' : 'sql');
    if (outcome instanceof DatabaseError)
      return `${statement} !! ${expectedError(outcome, expected)}`;
    if (sign === '=>' && expected === '*') return line;
    return `${statement} => ${word === '=' ? outcome.slice(4, -1) : outcome}`;
  }

  async #outcome(text: string, language: string): Promise<string | DatabaseError> {
    const session = this.#session === undefined ? {} : { sessionId: this.#session };
    const parameters = this.#parameters;
    this.#parameters = {};
    try {
      const rows = await this.#database.print(text, parameters, session, language);
      return rows === '' ? '-' : rows.replaceAll('\n', ' ; ');
    } catch (error) {
      if (error instanceof DatabaseError) return error;
      throw error;
    }
  }
}

/** `Code ~ part ~ part`, the parts as expected if they all stand in the error. */
function expectedError(error: DatabaseError, expected: string): string {
  const [, ...parts] = expected.split(' ~ ');
  const said = `${error.message}\n${error.help ?? ''}`;
  return [error.code, ...parts.filter((part) => said.includes(part))].join(' ~ ');
}
