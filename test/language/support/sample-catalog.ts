import { applyChange } from '#catalog/change/apply-change.ts';
import { type CatalogValue, emptyCatalog } from '#catalog/catalog-value.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { sqlFrontend } from '#language/sql/frontend.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';

const limits = { expressionDepthMax: 200, statementBytesMax: 4 * 1024 * 1024 };

/** The program of a statement; for statements that are queries. */
export function analyzed(text: string, catalog: CatalogValue): QueryProgram {
  const program = sqlFrontend.analyze(sqlFrontend.parse(text, limits), {
    catalog,
    variables: new Map(),
    parameterNames: undefined,
    expressionDepthMax: limits.expressionDepthMax,
  });
  if (program.kind !== 'query') throw new Error(`'${text}' is no query`);
  return program;
}

/** A catalog made by schema statements. */
export function catalogOf(statements: readonly string[]): CatalogValue {
  let catalog = emptyCatalog();
  for (const statement of statements) {
    const { plan } = analyzed(statement, catalog);
    if (plan.op !== 'Alter') throw new Error(`'${statement}' is no schema statement`);
    catalog = applyChange(catalog, plan.change, {
      formats: defaultTemporalFormats,
      defaultBucketCount: 1,
      recordCount: () => 0,
    }).catalog;
  }
  return catalog;
}

/** Persons who are friends, and documents without a schema. */
export function sampleCatalog(): CatalogValue {
  return catalogOf([
    'CREATE DOCUMENT TYPE Doc',
    'CREATE VERTEX TYPE Being',
    'CREATE VERTEX TYPE Person EXTENDS Being',
    'CREATE PROPERTY Person.name STRING',
    'CREATE PROPERTY Person.age INTEGER',
    'CREATE INDEX ON Person (name) UNIQUE',
    'CREATE EDGE TYPE Friend',
    'CREATE EDGE TYPE Knows',
    'CREATE EDGE TYPE OneWay UNIDIRECTIONAL',
  ]);
}
