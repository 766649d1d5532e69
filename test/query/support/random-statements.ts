import type { Value } from '#core/value/value.ts';

/**
 * Seeded statements over the graph of `statement-agreement.test.ts`: nested SELECT with LET, GROUP BY, DISTINCT, UNWIND and
 * sub-queries, MATCH with repeated, optional and NOT paths, TRAVERSE, and writes. What they ask is often silly and always valid.
 */
export type StatementKind = 'select' | 'match' | 'traverse' | 'write';

const types = ['P', 'P', 'S', 'SS', 'Q'];
const properties = ['a', 'a', 'b', 'c', 'd', 'x', 'y', 'id', 'absent', 'w'];
const constants = [
  ...['0', '1', '2', '3', '5', '1.5', '2.25', "'u'", "'v'", "'5'", 'null', '2 + 1', '-1', 'true'],
  ...[':i', ':s', ':nothing', ':f', "'2024-01-03'", "date('2024-01-05', 'yyyy-MM-dd')"],
];

/** Values of the parameters that statements name. */
export const statementParameters: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['i', 3],
  ['s', 'u'],
  ['nothing', null],
  ['f', 1.5],
  ['p', 'u%'],
]);

export class RandomStatements {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(kind: StatementKind): string {
    switch (kind) {
      case 'select':
        return this.#select(2);
      case 'match':
        return this.#match();
      case 'traverse':
        return this.#traverse();
      default:
        return this.#write();
    }
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** Mulberry32. */
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  #maybe(share: number, text: () => string): string {
    return this.#random() < share ? text() : '';
  }

  #property(): string {
    return this.pick(properties);
  }

  #constant(): string {
    return this.pick(constants);
  }

  #scalar(depth: number): string {
    const one = (): string => this.#scalar(0);
    const shapes: readonly (() => string)[] = [
      () => this.#property(),
      () => this.#constant(),
      () => this.pick(['@rid', '@type', 'tags.size()', 'm.k1', 'tags[0]']),
      () => `${one()} ${this.pick(['+', '-', '*', '%'])} ${one()}`,
      () => `ifnull(${this.#property()}, ${this.#constant()})`,
      () => `CASE WHEN ${this.#condition(depth - 1)} THEN ${one()} ELSE ${one()} END`,
      () => `coalesce(${this.#property()}, ${this.#property()}, ${this.#constant()})`,
      () => `${this.#property()}.asString()`,
      () => `out('${this.pick(['K', 'L', 'U'])}').size()`,
      () =>
        `(SELECT count(*) AS k FROM ${this.pick(types)} WHERE a = $parent.$current.${this.pick(['a', 'x', 'y'])})[0].k`,
      () => `${this.#property()} || ${this.#constant()}`,
      () => `in('K').${this.pick(['id', 'a'])}`,
    ];
    return this.pick(depth > 0 ? shapes : shapes.slice(0, 3))();
  }

  #condition(depth: number): string {
    const compared = (): string =>
      `${this.#property()} ${this.pick(['=', '=', '<', '>', '<=', '>=', '<>', '<=>'])} ${this.#constant()}`;
    const leaves: readonly (() => string)[] = [
      compared,
      compared,
      () => `${this.#constant()} ${this.pick(['=', '<', '>=', '>'])} ${this.#property()}`,
      () => `${this.#property()} BETWEEN ${this.#constant()} AND ${this.#constant()}`,
      () =>
        `${this.#property()} IN [${this.#constant()}, ${this.#constant()}, ${this.#constant()}]`,
      () => `${this.#property()} IS ${this.#maybe(0.5, () => 'NOT ')}NULL`,
      () => `b LIKE ${this.pick(["'u%'", "'_'", "'%v'", ':p', "'U%'"])}`,
      () => `m CONTAINSKEY '${this.pick(['k0', 'k1'])}'`,
      () => `m CONTAINSVALUE ${this.below(3)}`,
      () => `tags CONTAINS ${this.pick(["'t'", "'u'", ':s'])}`,
      () =>
        `${this.pick(['@rid', 'link'])} ${this.pick(['=', '>', '<='])} ${this.pick(['#1:0', '#1:3'])}`,
      () => `id ${this.pick(['=', '<', '>'])} ${this.below(36)}`,
      () => `x = ${this.below(4)} AND y ${this.pick(['=', '>', '<='])} ${this.below(5)}`,
    ];
    const branches: readonly (() => string)[] = [
      () => `(${this.#condition(depth - 1)} AND ${this.#condition(depth - 1)})`,
      () => `(${this.#condition(depth - 1)} OR ${this.#condition(depth - 1)})`,
      () => `NOT (${this.#condition(depth - 1)})`,
      () => `${this.#property()} = ${this.#scalar(depth - 1)}`,
      () =>
        `a IN (SELECT ${this.pick(['a', 'x', 'y'])} FROM ${this.pick(types)} WHERE ${this.#condition(0)})`,
      () => `${this.pick(['out', 'in', 'both'])}('K').size() > ${this.below(3)}`,
    ];
    return this.pick(depth > 0 ? [...leaves, ...branches, ...branches] : leaves)();
  }

  #where(): string {
    return this.#maybe(0.8, () => ` WHERE ${this.#condition(2)}`);
  }

  #orderBy(keys: readonly string[]): string {
    const key = (): string => this.pick(keys) + this.pick(['', ' DESC']);
    return this.#maybe(0.5, () => ` ORDER BY ${this.pick([key(), `${key()}, ${key()}`])}`);
  }

  #limit(): string {
    return this.pick(['', '', '', '', ' LIMIT 3', ' SKIP 2 LIMIT 4', ' LIMIT :i', ' SKIP 1']);
  }

  #target(depth: number): string {
    if (depth > 0 && this.#random() < 0.3) return `(${this.#select(depth - 1)})`;
    return this.pick([...types, ...types, 'bucket:P_0', '[#1:0, #1:2, #2:1]', '#3:0', 'K']);
  }

  #aggregate(): string {
    const property = this.#property();
    return this.pick([
      ...['count(*)', 'count(*) + 1', 'max(a) - min(a)', 'set(a)', `count(${property})`],
      ...[`min(${property})`, `max(${property})`, `list(${property})`, 'sum(c)', 'avg(x)'],
    ]);
  }

  #let(): string {
    const value = this.pick([
      this.#scalar(1),
      `(SELECT ${this.#property()} AS q FROM ${this.pick(types)} WHERE x = $parent.$current.a ORDER BY @rid)`,
      `(SELECT max(a) AS q FROM ${this.pick(types)})`,
    ]);
    return ` LET $l = ${value}`;
  }

  #select(depth: number): string {
    const from = `FROM ${this.#target(depth)}`;
    const end = this.#limit();
    const key = this.pick(['a', 'x', 'b', 'a + 1', '@type', 'd']);
    const steps = ["out('K')", "in('L')", 'both()', "outE('K')", "out('K').out('K')"];
    const columns = [
      ...['', '*', 'id, a AS x, x AS a', `id, ${this.#scalar(2)} AS e`],
      `${this.#scalar(1)} AS e, ${this.#scalar(2)} AS f`,
    ];
    const order = this.#orderBy(['a', 'b', 'c', 'd', 'x', 'y', 'id', '@rid', 'e']);
    const plain = (): string =>
      `SELECT ${this.pick(columns)} ${from}${this.#where()}${order}${end}`;
    return this.pick([
      () => `SELECT ${this.#aggregate()} AS g1, ${this.#aggregate()} AS g2 ${from}${this.#where()}`,
      () =>
        `SELECT ${key} AS k, ${this.#aggregate()} AS g ${from}${this.#where()} GROUP BY ${this.pick([key, 'k'])}${this.#orderBy(['k', 'g'])}${end}`,
      () =>
        `SELECT DISTINCT ${this.pick(['a', 'a, x', 'b AS q', '@type AS t'])} ${from}${this.#where()}${end}`,
      () => `SELECT id, tags ${from}${this.#where()} UNWIND tags${end}`,
      () =>
        `SELECT expand(${this.pick([...steps, 'tags', 'link', "out('U')"])}) ${from}${this.#where()}${end}`,
      () => `SELECT id, $l AS v ${from}${this.#let()}${this.#where()}${order}${end}`,
      plain,
      plain,
    ])();
  }

  #step(): string {
    const arrows = ['-K->', '<-K-', '-K-', '-L->', '-U->', '<-U-', '-->', ".out('K')", '.out()'];
    return this.pick([
      ...arrows,
      ".both('L')",
      ".outE('K').inV()",
      ".inE('K'){where: (w > 2)}.outV()",
    ]);
  }

  #node(name: string, isFirst: boolean): string {
    const type = isFirst || this.#random() < 0.4 ? `type: ${this.pick(types)}, ` : '';
    const where = this.#maybe(0.4, () => `, where: (${this.#condition(1)})`);
    return `{${type}as: ${name}${where}}`;
  }

  #end(): string {
    return this.pick([
      `{as: c, maxDepth: ${1 + this.below(2)}}`,
      `{as: c, while: ($depth < ${1 + this.below(2)})}`,
      `{as: c, while: ($depth < 2 AND ${this.pick(['a > 1', 'id < 20'])}), where: (${this.#condition(0)})}`,
      '{as: c, while: ($depth < 2), depthAlias: dp, pathAlias: pp}',
      `{as: c, where: ($matched.a.a ${this.pick(['=', '<', '<>'])} a)}`,
      '{as: c, where: ($matched.a != $currentMatch)}',
      '{as: c, optional: true}',
    ]);
  }

  #match(): string {
    const start = `${this.#node('a', true)}${this.#step()}${this.#node('b', false)}`;
    const rest = this.pick([
      () => '',
      () => `${this.#step()}${this.#node('c', false)}`,
      () => `${this.#step()}${this.#end()}`,
      () => `, {as: b}${this.#step()}{as: a}`,
      () => `${this.#step()}${this.#node('c', false)}, {as: a}${this.#step()}{as: c}`,
      () => `, ${this.#node('z', true)}`,
      () => `, {as: a}${this.#step()}${this.#end()}`,
    ])();
    const not = this.#maybe(0.25, () => `, NOT {as: a}${this.#step()}{as: b}`);
    const last = rest.includes('as: c') ? 'c' : 'b';
    const rows = this.pick([
      ...[`a, b, ${last}`, 'count(*) AS n', 'count(*) AS n', 'DISTINCT b.id AS i', '$matches'],
      ...['$elements', 'DISTINCT $elements', "a.id AS i, b.out('K').size() AS o"],
      ...[`a.id AS i, ${last}.a AS j`, 'a.a AS k, count(*) AS n GROUP BY a.a'],
      `${last}.@type AS k, count(${last}) AS n, max(a.id) AS m GROUP BY ${last}.@type`,
      'a.id AS i, b.id AS j ORDER BY i DESC, j',
    ]);
    return `MATCH ${start}${rest}${not} RETURN ${rows}`;
  }

  #traverse(): string {
    const fields = this.pick([
      ...["out('K')", "in('K')", "both('L')", 'out()', 'both()', '*', 'link', "out('K'), link"],
      "outE('K'), inV()",
    ]);
    const from = this.pick(['#1:0', 'P', '(SELECT FROM P WHERE a = 3)', 'S', '[#1:1, #2:2]']);
    const depth = this.pick(['', ' MAXDEPTH 1', ' MAXDEPTH 2']);
    const conditions = [' WHILE $depth < 2', ' WHILE a > 2', ' WHILE id < 25 AND $depth < 3'];
    const ends = ['', '', ' LIMIT 7', ' STRATEGY BREADTH_FIRST', ' STRATEGY DEPTH_FIRST'];
    const condition = this.#maybe(0.3, () => this.pick(conditions));
    const text = `TRAVERSE ${fields} FROM ${from}${depth}${condition}${this.pick(ends)}`;
    return this.pick([
      text,
      text,
      `SELECT count(*) AS n FROM (${text})`,
      `SELECT id, $depth AS d FROM (${text})${this.#where()}`,
      `SELECT @type AS t, count(*) AS n FROM (${text}) GROUP BY @type`,
    ]);
  }

  #write(): string {
    const condition = (): string => this.#condition(1);
    return this.pick([
      () => `UPDATE P SET a = ${this.#scalar(1)} RETURN AFTER id, a${this.#where()}`,
      () => `UPDATE ${this.pick(types)} SET absent = 1${this.#where()}`,
      () => `UPDATE P SET x = 9 RETURN BEFORE id, x WHERE ${this.#condition(2)} LIMIT 3`,
      () => `UPDATE (SELECT FROM P WHERE ${condition()}) SET y = 1`,
      () => `DELETE FROM ${this.pick(['P', 'S', 'K', 'Q'])}${this.#where()}`,
      () =>
        `CREATE EDGE L FROM (SELECT FROM P WHERE ${condition()} LIMIT 2) TO (SELECT FROM P WHERE ${condition()} LIMIT 2)`,
      () => `INSERT INTO Q FROM SELECT a, b || 'z' || id AS b FROM P WHERE ${condition()}`,
    ])();
  }
}
