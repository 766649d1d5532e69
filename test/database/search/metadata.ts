import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../support/open-test-database.ts';

// Every METADATA key of sql.md 13.10, with values that it takes and values that it refuses by its name.

interface Kind {
  readonly kind: string;
  readonly properties: string;
  /** Without which no index of the kind is made. */
  readonly required: Readonly<Record<string, unknown>>;
  readonly keys: Readonly<
    Record<string, { readonly takes: readonly unknown[]; readonly refuses: readonly unknown[] }>
  >;
}

const positive = { takes: [1, 7], refuses: [0, -1, 1.5, '7', null, true, []] };
const flag = { takes: [true, false], refuses: ['true', 1, null] };
const analyzer = {
  takes: [
    'standard',
    'simple',
    'whitespace',
    'keyword',
    'stop',
    'english',
    'german',
    'org.apache.lucene.analysis.en.EnglishAnalyzer',
    'org.apache.lucene.analysis.standard.StandardAnalyzer',
  ],
  refuses: ['klingon', '', 3, null],
};
const words = (...takes: readonly string[]) => ({
  takes: [...takes, ...takes.map((word) => word.toLowerCase())],
  refuses: ['OTHER', '', 1, null],
});

const kinds: readonly Kind[] = [
  {
    kind: 'FULL_TEXT',
    properties: 'title, body',
    required: {},
    keys: {
      analyzer,
      index_analyzer: analyzer,
      query_analyzer: analyzer,
      title_analyzer: analyzer,
      body_analyzer: analyzer,
      title_boost: { takes: [0, 1, 2.5], refuses: [-1, 'x', null] },
      body_boost: { takes: [3], refuses: [-0.5] },
      allowLeadingWildcard: flag,
      defaultOperator: words('OR', 'AND'),
      similarity: words('BM25', 'CLASSIC'),
      bm25_k1: { takes: [0, 1.2, 3], refuses: [-1, '1', null] },
      bm25_b: { takes: [0, 0.75, 1], refuses: [-0.1, 1.1, 'x'] },
    },
  },
  {
    kind: 'LSM_VECTOR',
    properties: 'dense',
    required: { dimensions: 3 },
    keys: {
      dimensions: { takes: [1, 3, 1536], refuses: [0, -3, 1.5, '3', 65_536, 1e9, null] },
      similarity: words('COSINE', 'DOT_PRODUCT', 'EUCLIDEAN'),
      quantization: words('NONE', 'INT8', 'BINARY', 'PRODUCT'),
      encoding: words('FLOAT32', 'INT8'),
      maxConnections: positive,
      beamWidth: positive,
      efSearch: positive,
      neighborOverflowFactor: { takes: [1, 1.2, 2], refuses: [0.5, 0, -1, 'x'] },
      alphaDiversityRelaxation: { takes: [1, 1.2, 2], refuses: [0.5, 0, -1, 'x'] },
      idPropertyName: { takes: ['id', 'title'], refuses: ['', 3, null] },
      addHierarchy: flag,
      storeVectorsInGraph: flag,
      mutationsBeforeRebuild: positive,
      inactivityRebuildTimeoutMs: positive,
      pqSubspaces: { takes: [1, 3], refuses: [0, -1, 4, '3'] },
      pqClusters: { takes: [1, 256], refuses: [0, -1, 257] },
      pqCenterGlobally: flag,
      pqTrainingLimit: positive,
      buildGraphNow: flag,
    },
  },
  {
    kind: 'LSM_SPARSE_VECTOR',
    properties: 'indices, weights',
    required: {},
    keys: {
      dimensions: { takes: [0, 30_000], refuses: [-1, 1.5, '3', null] },
      modifier: words('NONE', 'IDF'),
      weightQuantization: words('INT8', 'FP16', 'FP32'),
    },
  },
  {
    kind: 'GEOSPATIAL',
    properties: 'place',
    required: {},
    keys: {
      precision: { takes: [1, 11, 12], refuses: [0, -1, 13, 2.5, '11', null] },
      tokenization: words('FRONTIER', 'FULL'),
    },
  },
];

const row = {
  title: 'a title',
  body: 'of a text',
  dense: [1, 2, 3],
  indices: [1, 4],
  weights: [0.5, 1],
  place: 'POINT (1 2)',
};

async function made(database: TestDatabase): Promise<void> {
  await database.run('CREATE DOCUMENT TYPE D');
  const types = [
    'title STRING',
    'body STRING',
    'dense ARRAY_OF_FLOATS',
    'indices ARRAY_OF_INTEGERS',
    'weights ARRAY_OF_FLOATS',
    'place STRING',
  ];
  for (const type of types) await database.run(`CREATE PROPERTY D.${type}`);
  await database.run(`INSERT INTO D CONTENT ${JSON.stringify(row)}`);
}

function creation({ kind, properties }: Kind, metadata: object): string {
  return `CREATE INDEX i ON D (${properties}) ${kind} METADATA ${JSON.stringify(metadata)}`;
}

for (const kind of kinds) {
  test(`every METADATA key of ${kind.kind} takes what it is for and refuses the rest by name`, async () => {
    const database = await openTestDatabase();
    try {
      await made(database);
      for (const [key, { takes, refuses }] of Object.entries(kind.keys)) {
        for (const value of refuses) {
          const text = creation(kind, { ...kind.required, [key]: value });
          await assert.rejects(database.run(text), (error: Error & { code?: string }) => {
            assert.equal(error.code, 'IllegalArgument', text);
            assert.ok(error.message.includes(`'${key}'`), `${text}: ${error.message}`);
            return true;
          });
        }
        for (const value of takes) {
          const isOfOther = key === 'dimensions' && value !== 3 && kind.kind === 'LSM_VECTOR';
          if (isOfOther) await database.run('UPDATE D SET dense = null');
          const text = creation(kind, { ...kind.required, [key]: value });
          const [created] = await database.run(text);
          assert.equal(created?.['type'], kind.kind, text);
          assert.equal(created?.['totalIndexed'], 1, text);
          await database.run('DROP INDEX i');
          if (isOfOther) await database.run('UPDATE D SET dense = [1, 2, 3]');
        }
      }
    } finally {
      await database.close();
    }
  });

  test(`the METADATA keys of ${kind.kind} are those of the text and no others`, async () => {
    const database = await openTestDatabase();
    try {
      await made(database);
      const text = creation(kind, { ...kind.required, nonsense: 1 });
      const said = await database.run(text).then(
        () => '',
        (error: Error) => error.message,
      );
      assert.match(said, /unknown METADATA key 'nonsense'/u);
      const ofFields = /^(?:title|body)_/u;
      const named = (/it takes (.+)$/u.exec(said)?.[1] ?? '').split(', ');
      assert.deepEqual(
        named.toSorted(),
        Object.keys(kind.keys)
          .filter((key) => !ofFields.test(key))
          .toSorted(),
      );
      for (const other of ['NOTUNIQUE', 'UNIQUE', 'NOTUNIQUE_HASH', 'UNIQUE_HASH'])
        await assert.rejects(
          database.run(`CREATE INDEX i ON D (title) ${other} METADATA {"analyzer": "english"}`),
          /METADATA is not supported by index type/u,
        );
    } finally {
      await database.close();
    }
  });
}
