// Goal: a text that is read in steps gives the tree, or the fault, that it gives when it is read at once. Method: random long texts
// of everything that repeats (chains, lists, maps, clauses, paths, branches), nested in each other, some spoilt at a random token.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DatabaseError } from '#core/errors.ts';
import type { CypherAst } from '#language/cypher/ast.ts';
import { parseInSteps, parseStatement } from '#language/cypher/parser/statement.ts';

const limits = { expressionDepthMax: 200, statementBytesMax: 4 * 1024 * 1024 };

interface Reading {
  readonly result: CypherAst | string;
  readonly stepCount: number;
}

function inSteps(text: string): Reading {
  const steps = parseInSteps(text, limits);
  let stepCount = 0;
  try {
    for (;;) {
      stepCount += 1;
      const step = steps.next();
      if (step.done === true) return { result: step.value, stepCount };
    }
  } catch (error) {
    return { result: faultOf(error), stepCount };
  }
}

function atOnce(text: string): CypherAst | string {
  try {
    return parseStatement(text, limits);
  } catch (error) {
    return faultOf(error);
  }
}

function faultOf(error: unknown): string {
  if (!(error instanceof DatabaseError)) throw error;
  return `${error.code}: ${error.message}`;
}

/** Takes numbers from a seed. */
class Choices {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  below(bound: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * bound);
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

const leaves = [
  '1',
  '2.5',
  "'text'",
  'x',
  'x.name',
  '$p',
  'null',
  '-3',
  'count(*)',
  'EXISTS { (a)-->(b) }',
];

class Texts {
  readonly #choices: Choices;

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  /** @param size tokens, about */
  expression(size: number): string {
    if (size < 4) return this.#choices.of(leaves);
    const parts = (separator: string): string => this.#parts(size, separator);
    switch (this.#choices.below(14)) {
      case 0:
      case 1:
        return `(${parts(this.#choices.of([' AND ', ' OR ', ' XOR ']))})`;
      case 2:
      case 3:
        return `(${parts(this.#choices.of([' + ', ' || ', ' % ', ' * ', ' ^ ']))})`;
      case 4:
        return `(${parts(this.#choices.of([' < ', ' <= ', ' = ', ' <> ']))})`;
      case 5:
        return `[${parts(', ')}]`;
      case 6:
        return this.#entries(size);
      case 7:
        return `coalesce(${parts(', ')})`;
      case 8:
        return `CASE ${this.#repeated(size, () => `WHEN ${this.expression(6)} THEN ${this.expression(6)}`, ' ')} END`;
      case 9:
        return `trim(${this.expression(size - 3)})`;
      case 10:
        return `[(a)-[r {k: ${this.expression(size / 2)}}]->(b) WHERE ${this.expression(size / 2)} | b]`;
      case 11:
        return `[e IN ${this.expression(size / 2)} WHERE ${this.expression(size / 2)} | e]`;
      case 12:
        return `EXISTS { MATCH (a) WHERE ${this.expression(size - 6)} }`;
      default:
        return `x {.a, ${this.#entries(size).slice(1)}`;
    }
  }

  #entries(size: number): string {
    return `{${this.#repeated(size, () => `k: ${this.expression(5)}`, ', ')}}`;
  }

  #parts(size: number, separator: string): string {
    // Few long parts, or many short ones.
    const count = this.#choices.of([2, 3, Math.ceil(size / 6)]);
    const each = size / count;
    return Array.from({ length: count }, () => this.expression(each)).join(separator);
  }

  #repeated(size: number, item: () => string, separator: string): string {
    return Array.from({ length: Math.ceil(size / 14) }, item).join(separator);
  }

  clause(size: number): string {
    const value = (): string => this.expression(size);
    return this.#choices.of([
      () => `MATCH (a {k: ${value()}})-->(b) WHERE ${value()}`,
      () => `UNWIND ${value()} AS u`,
      () => `WITH *, ${value()} AS w WHERE ${value()}`,
      () => `CREATE ${this.#repeated(size, () => `(:L {k: ${this.expression(4)}})`, ', ')}`,
      () => `SET ${this.#repeated(size, () => `x.k = ${this.expression(5)}`, ', ')}`,
      () => `REMOVE ${this.#repeated(size, () => 'x.k', ', ')}`,
      () => `DELETE ${this.#repeated(size, () => 'x', ', ')}`,
      () => `LET ${this.#repeated(size, () => `v = ${this.expression(5)}`, ', ')}`,
      () => `FOREACH (e IN ${value()} | ${this.#repeated(size, () => 'CREATE (n)', ' ')})`,
      () => `ORDER BY ${this.#repeated(size, () => this.expression(3), ', ')} LIMIT 3`,
      () => `CALL { ${this.clause(size / 2)} ${this.clause(size / 2)} RETURN 1 AS one }`,
    ])();
  }

  statement(size: number): string {
    const query = (): string => {
      const count = this.#choices.of([1, 3, 40]);
      const clauses = Array.from({ length: count }, () => this.clause(size / count));
      return `${clauses.join('\n')} RETURN ${this.expression(size / 10)} AS r, 2 AS s`;
    };
    return this.#choices.below(4) === 0 ? `${query()} UNION ALL ${query()}` : query();
  }
}

test('a long text that is read in steps gives the tree that it gives when it is read at once', () => {
  let pauseCount = 0;
  let treeCount = 0;
  fc.assert(
    fc.property(fc.integer({ min: 1 }), (seed) => {
      const choices = new Choices(seed);
      const text = new Texts(choices).statement(choices.of([8_000, 16_000]));
      const { result, stepCount } = inSteps(text);
      pauseCount += stepCount - 1;
      if (typeof result !== 'string') treeCount += 1;
      assert.deepEqual(result, atOnce(text));
    }),
    { numRuns: 12 },
  );
  assert.ok(pauseCount > 40 && treeCount > 8, `${pauseCount} pauses, ${treeCount} trees`);
});

test('a spoilt long text has the same fault when it is read in steps', () => {
  let faultCount = 0;
  fc.assert(
    fc.property(fc.integer({ min: 1 }), (seed) => {
      const choices = new Choices(seed);
      const words = new Texts(choices).statement(9_000).split(' ');
      words.splice(choices.below(words.length), 1, choices.of(['ADN', ')', ',', 'WHRE', '', '+']));
      const text = words.join(' ');
      const { result } = inSteps(text);
      if (typeof result === 'string') faultCount += 1;
      assert.deepEqual(result, atOnce(text));
    }),
    { numRuns: 12 },
  );
  assert.ok(faultCount > 5, `${faultCount} faults`);
});

test('what repeats in a long text is read in steps of some thousand tokens', () => {
  const many = (item: string, separator: string): string =>
    Array.from({ length: 20_000 }, () => item).join(separator);
  for (const text of [
    `RETURN ${many('true', ' AND ')}`,
    `RETURN ${many('1', ' + ')}`,
    `RETURN ${many('1', ' <= ')}`,
    `UNWIND [${many('1', ', ')}] AS x RETURN x`,
    `RETURN {${many('k: 1', ', ')}}`,
    `RETURN ${many('1 AS a', ', ')}`,
    `RETURN CASE ${many('WHEN true THEN 1', ' ')} END`,
    many('CREATE ()', ' '),
    `CREATE ${many('()', ', ')}`,
    `MATCH (n) SET ${many('n.a = 1', ', ')}`,
    `MATCH (n {k: {${many('k: 1', ', ')}}}) WHERE ${many('true', ' AND ')} RETURN n`,
  ]) {
    const { stepCount } = inSteps(text);
    assert.ok(stepCount >= 15, `${stepCount} steps of ${text.slice(0, 40)}`);
  }
});

test('the first steps of a long text are short', () => {
  // 20,000 tokens: after 250, 500, 1,000, and 2,000 from then on.
  const { stepCount } = inSteps(`RETURN ${'1 + '.repeat(10_000)}1`);
  assert.ok(stepCount >= 12, `${stepCount} steps`);
});

// Goal: one long string takes turns like a long text does. Method: megabytes of every kind of escape, within other things that repeat,
// whole, with a fault at the end, without an end.
test('a long string is decoded in steps', () => {
  const escapes = '\\n\\/\\\\\\u00e9\\U0001F600 \\\'x "'.repeat(40_000);
  const items = Array.from({ length: 3_000 }, (_, at) => `${at}, 'short \\t ${at}'`).join(', ');
  for (const text of [
    `RETURN '${escapes}' AS x`,
    `RETURN [${items}, '${escapes}', ${items}, "${escapes.replaceAll('"', "'")}"] AS x`,
    `RETURN ${'1 + '.repeat(3_000)}size('${escapes}' + 'é' + '${escapes}') AS x, "plain"`,
    `RETURN '${escapes}\\x' AS x`,
    `RETURN '${escapes}\\ud800' AS x`,
    `RETURN '${escapes} AS x`,
    `RETURN '${escapes}' AS x RETURN ]`,
  ]) {
    const { result, stepCount } = inSteps(text);
    assert.deepEqual(result, atOnce(text));
    // A string without an end is no string.
    const isWhole = text.includes(`${escapes}'`) || text.includes(`${escapes}\\`);
    assert.ok(stepCount > (isWhole ? 3 : 0), `${stepCount} steps`);
  }
});

test('the end of a long string is looked for in steps, wherever it stands', () => {
  const escapes = "\\n\\'".repeat(300_000);
  for (const text of [
    `RETURN '${escapes}' AS x`,
    `RETURN [1, {a: '${escapes}'}] AS x`,
    `MATCH (n) WHERE n.a = '${escapes}' RETURN n`,
    `RETURN '${escapes} AS x`,
  ]) {
    const { result, stepCount } = inSteps(text);
    assert.deepEqual(result, atOnce(text));
    // Each quarter of a million characters of it.
    assert.ok(stepCount >= 4, `${stepCount} steps`);
  }
});

test('a number of megabytes is refused without being read to its end', () => {
  const digits = '1'.repeat(1_000_000);
  for (const [text, detail] of [
    [digits, 'IntegerOverflow'],
    [`-${digits}`, 'IntegerOverflow'],
    [`${digits}.5`, 'IntegerOverflow'],
    [`0.${digits}`, 'FloatingPointOverflow'],
    [`.${digits}`, 'FloatingPointOverflow'],
    [`1e-${digits}`, 'FloatingPointOverflow'],
    ['1_'.repeat(500_000), 'FloatingPointOverflow'],
  ] as const) {
    const fault = atOnce(`RETURN ${text} AS x`);
    assert.match(String(fault), /more than 32768 characters \(service\.queryMaxNumberDigits\)/u);
    assert.match(String(fault), new RegExp(detail, 'u'));
  }
  // As many digits as are allowed, with what may stand between and behind them.
  const allowed = `${'1_'.repeat(4_999)}1`;
  assert.match(String(atOnce(`RETURN ${allowed} AS x`)), /beyond 64 bits/u);
  assert.equal(typeof atOnce(`RETURN 0.${'1'.repeat(9_990)}e+10 AS x`), 'object');
});
