import type { TypeDefinition } from '#catalog/catalog.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import type { Runtime } from '#core/runtime.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { ProgressReporter } from '../../progress/progress-registry.ts';

/** What an export has written. */
export interface ExportTotals {
  documents: number;
  vertices: number;
  edges: number;
  /** Values and records that the format cannot carry as they are. */
  warnings: number;
}

/** What writers of all formats work on: one state of the database, read in short turns. */
export interface ExportSource {
  readonly name: string;
  readonly view: ReadView;
  readonly runtime: Runtime;
  readonly reporter: ProgressReporter;
  readonly totals: ExportTotals;
}

/** Text that is handed on at once. */
const pieceCharacters = 64 * 1024;
const turnMs = 3;

/** Pieces of an export, each told by a record; others have their turn every few milliseconds. */
export async function* recordPieces(
  source: ExportSource,
  kinds: readonly RecordKind[],
  textOf: (record: StoredRecord, type: TypeDefinition) => string,
): AsyncGenerator<string> {
  const { view, runtime, reporter, totals } = source;
  const { clock, timers } = runtime;
  let parts: string[] = [];
  let length = 0;
  let turnStartMs = clock.monotonicMs();
  for (const kind of kinds) {
    for (const type of view.catalog.types()) {
      if (type.kind !== kind) continue;
      for (const bucket of type.buckets) {
        const cursor = view.scan(bucket, 'ascending');
        for (let record = cursor.next(); record !== undefined; record = cursor.next()) {
          const text = textOf(record, type);
          count(totals, record.kind);
          parts.push(text);
          length += text.length;
          if (length >= pieceCharacters) {
            yield parts.join('');
            parts = [];
            length = 0;
          }
          if (clock.monotonicMs() - turnStartMs < turnMs) continue;
          told(reporter, totals);
          await timers.yield();
          reporter.check();
          turnStartMs = clock.monotonicMs();
        }
      }
    }
  }
  told(reporter, totals);
  if (parts.length > 0) yield parts.join('');
}

function count(totals: ExportTotals, kind: RecordKind): void {
  if (kind === 'vertex') totals.vertices += 1;
  else if (kind === 'edge') totals.edges += 1;
  else totals.documents += 1;
}

function told(reporter: ProgressReporter, totals: ExportTotals): void {
  reporter.count('documents', totals.documents);
  reporter.count('vertices', totals.vertices);
  reporter.count('edges', totals.edges);
}
