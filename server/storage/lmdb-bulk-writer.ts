import type { BucketId, TypeId } from '#core/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { Value, ValueMap } from '#core/value.ts';
import type { BulkEdge, BulkWriter } from './bulk-writer.ts';
import type { CommitBuilder, CommitContext } from './commit-builder.ts';
import type { AppliedPosition } from './engine.ts';
import type { Shape } from './shape.ts';

export interface LmdbBulkWriterOptions {
  readonly context: CommitContext;
  readonly timers: Pick<Timers, 'yield'>;
  readonly enqueue: (prepare: (commit: CommitBuilder) => void | Promise<void>) => Promise<void>;
}

export class LmdbBulkWriter implements BulkWriter {
  readonly pendingBytes = 0;
  constructor(_options: LmdbBulkWriterOptions) {}
  addRow(_type: TypeId, _bucket: BucketId, _position: number, _properties: ValueMap): void {}
  addColumns(_s: Shape, _b: BucketId, _p: number, _v: readonly Value[]): void {}
  addEdge(_edge: BulkEdge, _properties: ValueMap): void {}
  addEdgeColumns(_shape: Shape, _edge: BulkEdge, _values: readonly Value[]): void {}
  async flush(_position: AppliedPosition): Promise<void> {}
}
