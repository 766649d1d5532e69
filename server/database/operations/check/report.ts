import { formatRid, type Rid } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';

/** As many warnings and record ids as the row lists; the counters go on. */
const listedMax = 1_000;

/** What CHECK DATABASE has found so far (sql.md 16.3). */
export class CheckReport {
  errors = 0;
  fixed = 0;
  invalidLinks = 0;
  blocks = 0;
  usedBytes = 0;
  maxPosition = 0;
  unreachableEdges = 0;
  readonly allocated = { document: 0, vertex: 0, edge: 0 };
  readonly active = { document: 0, vertex: 0, edge: 0 };
  readonly rebuiltIndexes: string[] = [];
  readonly #warnings: string[] = [];
  readonly #corrupted = new Set<Rid>();
  readonly #deleted = new Set<Rid>();
  #warningCount = 0;

  error(message: string): void {
    this.errors += 1;
    this.warn(message);
  }

  warn(message: string): void {
    this.#warningCount += 1;
    if (this.#warnings.length < listedMax) this.#warnings.push(message);
  }

  corrupted(rid: Rid, message: string): void {
    if (this.#corrupted.size < listedMax) this.#corrupted.add(rid);
    this.error(message);
  }

  /** A block that cannot be read; the ids that it may hold. */
  damagedBlock(rids: readonly Rid[], message: string): void {
    for (const rid of rids) if (this.#corrupted.size < listedMax) this.#corrupted.add(rid);
    this.error(message);
  }

  /** It was taken out. */
  droppedBlock(rids: readonly Rid[]): void {
    this.fixed += 1;
    for (const rid of rids) if (this.#deleted.size < listedMax) this.#deleted.add(rid);
  }

  deleted(rid: Rid): void {
    this.fixed += 1;
    if (this.#deleted.size < listedMax) this.#deleted.add(rid);
  }

  /** @param blockBytes what a block aims at */
  row(blockBytes: number): ValueMap {
    const { allocated, active } = this;
    const total = (counts: typeof allocated): number =>
      counts.document + counts.vertex + counts.edge;
    return new Map<string, Value>([
      ['operation', 'check database'],
      ['totalErrors', this.errors],
      ['totalWarnings', this.#warningCount],
      ['autoFix', this.fixed],
      ['warnings', this.#warnings],
      ['corruptedRecords', [...this.#corrupted].map(formatRid)],
      ['invalidLinks', this.invalidLinks],
      ['deletedRecordsAfterFix', [...this.#deleted].map(formatRid)],
      ['rebuiltIndexes', this.rebuiltIndexes],
      ['totalPages', this.blocks],
      ['pageSize', blockBytes],
      ['avgPageUsed', this.blocks === 0 ? 0 : Math.round(this.usedBytes / this.blocks)],
      ['totalMaxOffset', this.maxPosition],
      ['totalAllocatedRecords', total(allocated)],
      ['totalAllocatedDocuments', allocated.document],
      ['totalAllocatedVertices', allocated.vertex],
      ['totalAllocatedEdges', allocated.edge],
      ['totalActiveRecords', total(active)],
      ['totalActiveDocuments', active.document],
      ['totalActiveVertices', active.vertex],
      ['totalActiveEdges', active.edge],
      ['totalDeletedRecords', total(allocated) - total(active)],
      ['totalPlaceholderRecords', 0],
      ['totalSurrogateRecords', 0],
      ['unreachableEdgeRecords', this.unreachableEdges],
      ['unreferencedFiles', 0],
      ['totalTimeSeriesTypes', 0],
      ['totalTimeSeriesShards', 0],
      ['totalTimeSeriesSamples', 0],
    ]);
  }
}
