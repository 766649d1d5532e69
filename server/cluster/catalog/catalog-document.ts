import { DatabaseError } from '#core/errors.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { Baseline } from '../bootstrap/baseline.ts';
import type { MemberDatabase } from '../replication/server-entries.ts';

/** What a server knows of the cluster beside its databases: one document, replaced as a whole with each entry of the server. */
export interface CatalogDocument {
  readonly version: 1;
  /** The newest entry that was carried out. */
  readonly applied: Index;
  /** Everything up to it is durable in every database. */
  readonly checkpointed: Index;
  readonly databases: readonly MemberDatabase[];
  /** UUIDs of databases that were dropped: an entry for them is passed over. */
  readonly dropped: readonly string[];
  /** Being created: what stands under its name when the server starts is unfinished. */
  readonly pending: MemberDatabase | undefined;
  /** On their way into the cluster: announced, neither published nor given up (ha.md 5.11). */
  readonly staged: readonly MemberDatabase[];
  /** The first leader has written its users and groups into the log. */
  readonly isInitialized: boolean;
  /** What it began with. */
  readonly baseline?: Baseline | undefined;
}

export const emptyCatalog: CatalogDocument = {
  version: 1,
  applied: 0,
  checkpointed: 0,
  databases: [],
  dropped: [],
  pending: undefined,
  staged: [],
  isInitialized: false,
};

/** Names of dropped databases that are remembered; their entries are long gone by then. */
export const droppedMax = 1000;

/** @throws DatabaseError `CorruptedRecord` */
export function parseCatalog(text: string): CatalogDocument {
  try {
    const document = JSON.parse(text) as CatalogDocument;
    if (document.version === 1 && Number.isSafeInteger(document.applied))
      return { ...emptyCatalog, ...document };
  } catch {
    // As one of another version.
  }
  throw new DatabaseError('CorruptedRecord', 'the catalog of the cluster cannot be read');
}

export function formatCatalog(document: CatalogDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
