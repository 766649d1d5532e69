import type { HttpClient } from '../support/server-process.ts';

/*
 * Statements of Cypher that are long, wide or hostile, over a graph of 10,000 nodes, a clique of them and a chain. Each is over or
 * refused within seconds.
 */

const database = 'cypher';
const nodeCount = 10_000;
const cliqueSize = 300;

/** A statement; `parameters` are made when it is asked. */
export interface CypherCase {
  readonly name: string;
  readonly text: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** Asks one statement of the graph. @returns status and what is told, shortly */
export async function askCypher(client: HttpClient, { text, parameters = {} }: CypherCase) {
  const { status, body } = await client.request('POST', `/command/${database}`, {
    language: 'cypher',
    command: text,
    params: parameters,
    limit: 1_000_000,
  });
  const told = body as { readonly detail?: string; readonly error?: string };
  return status === 200 ? '200' : `${status} ${String(told.detail ?? told.error).slice(0, 90)}`;
}

export async function loadGraph(client: HttpClient): Promise<void> {
  await client.server(`create database ${database}`);
  for (const text of [
    `UNWIND range(0, ${nodeCount - 1}) AS i CREATE (:P {k: i, name: 'name ' + i})`,
    'CREATE INDEX FOR (n:P) ON (n.k)',
    `MATCH (a:P), (b:P) WHERE a.k = b.k - 1 CREATE (a)-[:NEXT {w: 1.5}]->(b)`,
    `UNWIND range(1, ${cliqueSize}) AS i CREATE (:Q {k: i})`,
    'MATCH (a:Q), (b:Q) WHERE a.k < b.k CREATE (a)-[:K]->(b)',
  ]) {
    const told = await askCypher(client, { name: text, text });
    if (told !== '200') throw new Error(`${text}: ${told}`);
  }
}

const joined = (count: number, operator: string, term: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => term(at)).join(operator);

const terms = 50_000;
const of = (clause: string) => `MATCH (n:P {k: 1}) WHERE ${clause} RETURN count(n) AS n`;

/** What is long. */
const texts: Readonly<Record<string, string>> = {
  'AND of 50,000': of(joined(terms, ' AND ', (at) => `n.k <> ${at + 10}`)),
  'AND of 50,000 names': of(joined(terms, ' AND ', (at) => `n.p${at} IS NULL`)),
  'AND of 20,000 over two': `MATCH (n:P {k: 1}), (m:P {k: 2}) WHERE ${joined(20_000, ' AND ', (at) => `n.k + m.k <> ${-at}`)} RETURN count(n) AS n`,
  'OR of 50,000': of(joined(terms, ' OR ', (at) => `n.k = ${at}`)),
  'OR of 50,000 names': of(joined(terms, ' OR ', (at) => `n.p${at} = 1`)),
  'XOR of 50,000': of(joined(terms, ' XOR ', (at) => `n.k = ${at}`)),
  'sum of 50,000 names': of(`${joined(terms, ' + ', (at) => `n.p${at}`)} > 5`),
  'sum of 50,000 in RETURN': `MATCH (n:P) RETURN ${joined(terms, ' + ', () => 'n.k')} AS x LIMIT 1`,
  'comparisons of 20,000': `RETURN ${joined(20_000, ' < ', String)} AS x`,
  '|| of 50,000': `MATCH (n:P {k: 1}) RETURN size(${joined(terms, ' + ', () => 'n.name')}) AS x`,
  'IN of 300,000 literals': of(`n.k IN [${joined(300_000, ',', String)}]`),
  'IN of 50,000 expressions': of(`n.k IN [${joined(terms, ',', (at) => `n.k + ${at + 1}`)}]`),
  'list of 300,000 literals': `RETURN size([${joined(300_000, ',', String)}]) AS x`,
  '60,000 maps': `UNWIND [${joined(60_000, ',', (at) => `{a: ${at}, b: 'x'}`)}] AS m RETURN count(m) AS x`,
  'map of 60,000 keys': `RETURN size(keys({${joined(60_000, ',', (at) => `k${at}: ${at}`)}})) AS x`,
  'CASE of 20,000 branches': `MATCH (n:P {k: 1}) RETURN CASE ${joined(20_000, ' ', (at) => `WHEN n.k = -${at} THEN ${at}`)} END AS x`,
  'text of 2,000,000 escapes': `RETURN size('${'\\n'.repeat(2_000_000)}') AS x`,
  'text of 600,000 code points': `RETURN size('${'\\u00e9'.repeat(600_000)}') AS x`,
  'text of 4 MiB': `RETURN size('${'x'.repeat(4 * 2 ** 20 - 100)}') AS x`,
  'comment of 4 MiB': `RETURN 1 AS x /*${'x'.repeat(4 * 2 ** 20 - 100)}*/`,
  'blanks of 4 MiB': `RETURN 1 AS x${' '.repeat(4 * 2 ** 20 - 100)}`,
  'RETURN of 20,000 columns': `MATCH (n:P {k: 1}) RETURN ${joined(20_000, ', ', (at) => `n.k + ${at} AS c${at}`)}`,
  'WITH of 20,000 columns': `MATCH (n:P {k: 1}) WITH ${joined(20_000, ', ', (at) => `n.k + ${at} AS c${at}`)} RETURN c7`,
  'ORDER BY 5,000': `MATCH (n:P {k: 1}) RETURN n.k AS k ORDER BY ${joined(5_000, ', ', (at) => `n.p${at}`)}`,
  'CREATE of 20,000 nodes': `CREATE ${joined(20_000, ', ', (at) => `(:C {k: ${at}})`)}`,
  'CREATE clauses, 20,000': joined(20_000, ' ', (at) => `CREATE (:C {k: ${at}})`),
  'SET of 20,000 items': `MATCH (n:P {k: 1}) SET ${joined(20_000, ', ', (at) => `n.p${at} = ${at}`)}`,
  'REMOVE of 20,000 items': `MATCH (n:P {k: 1}) REMOVE ${joined(20_000, ', ', (at) => `n.p${at}`)}`,
  'node of 20,000 properties': `CREATE (:C {${joined(20_000, ', ', (at) => `p${at}: ${at}`)}})`,
  'MATCH of 190 parts': `MATCH ${joined(190, ', ', (at) => `(a${at}:P {k: ${at}})`)} RETURN count(*) AS n`,
  'path of 190 steps': `MATCH (a0:P {k: 0})${joined(190, '', (at) => `-[:NEXT]->(a${at + 1})`)} RETURN count(*) AS n`,
  '190 MATCH': `${joined(190, ' ', (at) => `MATCH (a${at}:P {k: ${at}})`)} RETURN count(*) AS n`,
  '190 WITH': `MATCH (n:P {k: 1}) ${joined(190, ' ', (at) => `WITH n, ${at} AS x${at}`)} RETURN n.k AS k`,
  '150 UNION': joined(150, ' UNION ', (at) => `MATCH (n:P {k: ${at}}) RETURN n.k AS k`),
  '20,000 parameters': `RETURN ${joined(20_000, ' + ', (at) => `$p${at}`)} AS x`,
  'labels of 5,000': `MATCH (n:${joined(5_000, '|', (at) => `L${at}`)}) RETURN count(n) AS n`,
  'nested 190 times': `RETURN ${'('.repeat(190)}1${')'.repeat(190)} AS x`,
  'nested 100,000 times': `RETURN ${'('.repeat(100_000)}1${')'.repeat(100_000)} AS x`,
  'lists nested 100,000 times': `RETURN ${'['.repeat(100_000)}${']'.repeat(100_000)} AS x`,
  'no statement': 'x '.repeat(2_000_000),
  'backticks of 4 MiB': `RETURN 1 AS \`${'x'.repeat(4_000_000)}\``,
  '4,000,000 brackets': '('.repeat(4_000_000),
};

/** What is much to do. */
const work: Readonly<Record<string, string>> = {
  'product of three': 'MATCH (a:P), (b:P), (c:P) WHERE a.k + b.k + c.k < 0 RETURN count(*) AS n',
  'any length over a clique': 'MATCH (a:Q {k: 1})-[:K*]->(b:Q) RETURN count(*) AS n',
  'range(0, 10^9)': 'UNWIND range(0, 1000000000) AS i RETURN count(i) AS n',
  'range(0, 10^7)': 'UNWIND range(0, 9999998) AS i RETURN count(i) AS n',
  'reduce that doubles': "RETURN size(reduce(s = 'x', i IN range(1, 60) | s + s)) AS n",
  'reduce of 10^6': 'RETURN reduce(s = 0, i IN range(1, 1000000) | s + i) AS n',
  'comprehension of 10^6': 'RETURN size([i IN range(1, 1000000) WHERE i % 2 = 0 | i * 2]) AS n',
  'collect of 10^8':
    'UNWIND range(1, 10000) AS a UNWIND range(1, 10000) AS b RETURN size(collect(a)) AS n',
  'collect of 10^6': 'UNWIND range(1, 1000000) AS a RETURN size(collect(a)) AS n',
  'DISTINCT of 10^6': 'UNWIND range(1, 1000000) AS a RETURN count(DISTINCT a) AS n',
  'percentileCont of 10^6': 'UNWIND range(1, 1000000) AS a RETURN percentileCont(a, 0.5) AS n',
  'ORDER BY of 10^6': 'UNWIND range(1, 1000000) AS a WITH a ORDER BY -a SKIP 999999 RETURN a',
  'all shortest paths':
    'MATCH p = allShortestPaths((a:Q {k: 1})-[:K*]->(b:Q)) RETURN count(p) AS n',
  'shortest path':
    'MATCH p = shortestPath((a:P {k: 0})-[:NEXT*]->(b:P {k: 9999})) RETURN length(p) AS n',
  'a path of 10,000': 'MATCH p = (a:P {k: 0})-[:NEXT*]->(b:P) RETURN max(length(p)) AS n',
  'nodes of a path of 10,000':
    'MATCH p = (a:P {k: 0})-[:NEXT*9999]->(b:P) RETURN size([n IN nodes(p) | n.k]) AS n',
  triangles: 'MATCH (a:Q)-[:K]->(b)-[:K]->(c)<-[:K]-(a) RETURN count(*) AS n',
  'a regular expression that backtracks': `RETURN '${'a'.repeat(500_000)}!' =~ '(a+)+$' AS x`,
  'split of 4 MiB': `RETURN size(split('${'a,'.repeat(1_900_000)}', ',')) AS n`,
  'replace of 4 MiB': `RETURN size(replace('${'a'.repeat(4_000_000)}', 'a', 'bb')) AS n`,
  'toUpper of 4 MiB': `RETURN size(toUpper('${'é'.repeat(1_900_000)}')) AS n`,
  'UPDATE of all': 'MATCH (n:P) SET n.x = n.k + 1',
  'MERGE of 20,000': 'UNWIND range(0, 19999) AS i MERGE (n:M {k: i}) RETURN count(n) AS n',
  'FOREACH of 20,000': 'FOREACH (i IN range(1, 20000) | CREATE (:M {k: i}))',
  'sub-query for each': 'MATCH (n:P) RETURN sum(COUNT { (n)-[:NEXT]->(:P) }) AS n',
  pageRank: 'CALL algo.pagerank() YIELD node, score RETURN count(*) AS n',
  'DELETE of all': 'MATCH (n:M) DETACH DELETE n',
};

const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`p${at}`, at]));

export const cypherCases: readonly CypherCase[] = [
  ...Object.entries(texts).map(([name, text]) => ({ name, text })),
  ...Object.entries(work).map(([name, text]) => ({ name, text })),
  ...[
    ['CREATE of a map of 20,000', 'CREATE (n:Wide $p)'],
    ['RETURN of 20,000 properties', 'MATCH (n:Wide) RETURN n'],
    ['SET of a map of 20,000', 'MATCH (n:Wide) SET n = $p'],
    ['+= of a map of 20,000', 'MATCH (n:Wide) SET n += $p'],
  ].map(([name = '', text = '']) => ({ name, text, parameters: { p: wide } })),
  {
    name: 'rows of 100,000 maps',
    text: 'UNWIND $rows AS row CREATE (n:M) SET n = row',
    parameters: { rows: Array.from({ length: 100_000 }, (_, k) => ({ k, name: `name ${k}` })) },
  },
];
