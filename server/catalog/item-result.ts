import type { Value } from '#core/value/value.ts';
import type { SchemaEffect } from './change/applied-change.ts';
import type { CatalogValue } from './catalog-value.ts';

/** What one item of ALTER TYPE gives: the next catalog and what it adds to the result row. */
export interface ItemResult {
  readonly catalog: CatalogValue;
  readonly columns: readonly (readonly [string, Value])[];
  readonly effects?: readonly SchemaEffect[];
}
