import type { BlockBuilder } from './block-builder.ts';
import type { DeletionJobs } from './deletion-jobs.ts';
import type { IndexBuilds } from './index-builds.ts';
import type { IndexDeriver } from '../engine.ts';
import type { FormatInUse } from '../format/features.ts';
import type { ImageMemory } from '../checkpoint/image-memory.ts';
import type { RetiredCells } from '../read/large-cells.ts';
import type { RowEncoder } from '../format/row.ts';
import type { TypeLabels } from '../format/row-record.ts';
import type { RowScratch } from './row-scratch.ts';
import type { ShapeRegistry } from '../format/shape.ts';
import type { StateReader } from '../read/state-reader.ts';

/** What all commits of one database are built with. */
export interface CommitContext {
  readonly state: StateReader;
  readonly format: FormatInUse;
  readonly shapes: ShapeRegistry;
  readonly rows: RowEncoder;
  readonly labels: TypeLabels;
  readonly deriver: IndexDeriver;
  readonly retired: RetiredCells;
  /** Block builders to reuse; what a commit took it gives back when it ends. */
  readonly spareBuilders: BlockBuilder[];
  readonly makeBlockBuilder: () => BlockBuilder;
  readonly jobs: DeletionJobs;
  readonly builds: IndexBuilds;
  readonly scratch: RowScratch;
  /** For values that are written and not cached. */
  readonly memory: ImageMemory;
}
