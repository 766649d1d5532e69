import { requireIndex, isShown } from '#catalog/change/index-definition.ts';
import { isSearchKind } from '#catalog/search-index.ts';
import { parseBucketStrategy } from '#catalog/bucket-strategy.ts';
import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import { DatabaseError, errorSpecs } from '#core/errors.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Maintenance } from '#query/algebra/maintenance.ts';
import type { MaintenanceOrder } from '../statement/context.ts';
import { type MaintenanceTask, pauseOf } from './task.ts';
import { countMisplaced } from './partitions.ts';

/**
 * REBUILD INDEX (sql.md 13.11): the entries are made anew beside the old ones, which answer searches and keep keys unique
 * until the new ones take their place. With `*` an index that fails is named and the others go on.
 *
 * @throws DatabaseError `Schema` for an unknown index, `DuplicatedKey` when a single index cannot be built
 */
export async function rebuildIndexes(
  work: Extract<Maintenance, { kind: 'rebuild-index' }>,
  task: MaintenanceTask,
): Promise<readonly ValueMap[]> {
  const { transaction } = task.order;
  const indexes = indexesNamed(transaction.catalog, work.index);
  if (work.statsOnly) return [statisticsRow(indexes, task.order)];
  task.progress.step('build', indexes.length);
  const rebuilt: string[] = [];
  const failed: string[] = [];
  let totalIndexed = 0;
  let misplaced = 0;
  for (const { name } of indexes) {
    try {
      totalIndexed += await rebuildOne(name, work.attemptCountMax, task);
      rebuilt.push(name);
      misplaced += await misplacedOf(name, task);
    } catch (error) {
      if (work.index !== undefined || !isOwnFault(error)) throw error;
      failed.push(name);
    }
    task.progress.advance(1);
  }
  return [
    new Map<string, Value>([
      ['operation', 'rebuild index'],
      ['indexes', rebuilt],
      ['totalIndexed', totalIndexed],
      ['recordsMisplaced', misplaced],
      ...(failed.length === 0 ? [] : [['failedIndexes', failed] as [string, Value]]),
    ]),
  ];
}

async function rebuildOne(
  name: string,
  attemptCountMax: number,
  task: MaintenanceTask,
): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const rows = await task.order.transaction.alter({ kind: 'rebuild-index', name }, () =>
        pauseOf(task),
      );
      return Number(rows[0]?.get('totalIndexed') ?? 0);
    } catch (error) {
      if (attempt >= attemptCountMax || !isRetryable(error)) throw error;
    }
  }
}

function isRetryable(error: unknown): boolean {
  return error instanceof DatabaseError && errorSpecs[error.code].retry === 'server';
}

/** False for what concerns the statement and not the index. */
function isOwnFault(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return error.code === 'DuplicatedKey' || error.code === 'Validation' || error.code === 'Schema';
}

/** Records that a partitioned type keeps in another bucket than their values ask for. */
async function misplacedOf(name: string, task: MaintenanceTask): Promise<number> {
  const { catalog } = task.order.transaction;
  const index = catalog.indexNamed(name);
  if (index === undefined) return 0;
  const type = catalog.typeWithId(index.type);
  const strategy = parseBucketStrategy(type.bucketStrategy);
  if (strategy.kind !== 'partitioned') return 0;
  const properties = index.components.map((component) => component.property).join(',');
  if (properties !== strategy.properties.join(',')) return 0;
  return countMisplaced(type, task);
}

/** Only scores of full-text search have statistics; the next search makes them of the entries. */
function statisticsRow(
  indexes: readonly IndexDefinition[],
  { transaction }: MaintenanceOrder,
): ValueMap {
  const scored = indexes.filter((index) => index.kind === 'FULL_TEXT');
  for (const { id } of scored) transaction.index(id).entries.memory.known?.refresh?.();
  return new Map<string, Value>([
    ['operation', 'rebuild index stats'],
    ['indexes', scored.map(({ name }) => name)],
    ['statsRecomputed', scored.length],
  ]);
}

/**
 * COMPACT INDEX: entries in chunks are brought together, and what searches keep of vectors that are gone is given back. The others lie
 * in a tree that keeps itself compact.
 */
export async function compactIndexes(
  work: Extract<Maintenance, { kind: 'compact-index' }>,
  { order: { transaction }, room: { engine } }: Pick<MaintenanceTask, 'order' | 'room'>,
): Promise<readonly ValueMap[]> {
  const indexes = indexesNamed(transaction.catalog, work.index);
  let isCompacted = false;
  for (const { id, kind } of indexes) {
    if (!isSearchKind(kind)) continue;
    if (transaction.index(id).entries.memory.known?.compact?.() === true) isCompacted = true;
    if (await engine.compactEntries(id)) isCompacted = true;
  }
  return [
    new Map<string, Value>([
      ['operation', 'compact index'],
      ['indexes', indexes.map(({ name }) => name)],
      ['compacted', isCompacted],
    ]),
  ];
}

function indexesNamed(catalog: Catalog, name: string | undefined): readonly IndexDefinition[] {
  if (name !== undefined) return [requireIndex(catalog, name)];
  return catalog.indexes().filter(isShown);
}
