/** Statements sent at once. */
export interface Wave {
  readonly title: string;
  readonly statements: readonly string[];
}

const holding = {
  'ORDER BY a number': 'SELECT * FROM T ORDER BY x',
  'ORDER BY a text': 'SELECT FROM T ORDER BY name DESC',
  'ORDER BY an expression': 'SELECT name, text FROM T ORDER BY text.toUpperCase()',
  'GROUP BY unique names': 'SELECT name, count(*) AS n, max(x) AS m FROM T GROUP BY name',
  'GROUP BY that collects': 'SELECT grp, list(text) AS texts FROM T GROUP BY grp',
  'GROUP BY that keeps records': 'SELECT grp, list(@this) AS rows FROM T GROUP BY grp',
  DISTINCT: 'SELECT DISTINCT name, text FROM T',
  'hash join': 'MATCH {type: T, as: a}, {type: T, as: b, where: (x = $matched.a.x)} RETURN a, b',
  'sub-query': 'SELECT $all.size() AS n LET $all = (SELECT FROM T)',
  'concatenated texts': 'SELECT $t.length() AS n LET $t = (SELECT list(text) AS t FROM T LIMIT 1)',
  'ORDER BY with LIMIT': 'SELECT FROM T ORDER BY name LIMIT 30000',
  UPDATE: 'UPDATE T SET flag = true',
} as const;

function wave(title: keyof typeof holding, count: number): Wave {
  return { title: `${count} x ${title}`, statements: Array(count).fill(holding[title]) };
}

/** In turn; what is held by one must be gone for the next. */
export const waves: readonly Wave[] = [
  ...[4, 8, 16].map((count) => wave('ORDER BY a number', count)),
  wave('ORDER BY a text', 4),
  wave('ORDER BY an expression', 4),
  wave('GROUP BY unique names', 8),
  wave('GROUP BY that collects', 8),
  wave('GROUP BY that keeps records', 4),
  wave('DISTINCT', 4),
  wave('hash join', 4),
  wave('sub-query', 8),
  wave('concatenated texts', 4),
  wave('ORDER BY with LIMIT', 4),
  wave('UPDATE', 4),
  { title: 'all of them', statements: Object.values(holding) },
];
