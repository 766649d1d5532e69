import { DatabaseError } from '#core/errors.ts';
import type { Index } from '#raft/vocabulary.ts';
import type { Baseline } from '../bootstrap/baseline.ts';
import { unknownFeatures } from '../features.ts';
import { UnknownEntry } from '../replication/entry-codec.ts';
import type { MemberDatabase } from '../replication/server-entries.ts';

/** The newest state of a group whose log is lost, until the group that was entered instead has begun. */
export interface FormerGroup {
  /** Undefined: an earlier build did not record it. */
  readonly group: string | undefined;
  /** Of the newest entry in its catalog. */
  readonly index: Index;
  readonly databases: readonly MemberDatabase[];
}

/** What a server knows of the cluster beside its databases: one document, replaced as a whole with each entry of the server. */
export interface CatalogDocument {
  readonly version: 1;
  /** Whose entries these are; undefined: none yet, or an earlier build wrote it. */
  readonly group?: string | undefined;
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
  /** Switched on by entries, which everybody understood who was a member then (ha.md 16). */
  readonly features: readonly string[];
  /** What it began with. */
  readonly baseline?: Baseline | undefined;
  /** Until it has begun. */
  readonly former?: FormerGroup | undefined;
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
  features: [],
};

/** Names of dropped databases that are remembered; their entries are long gone by then. */
export const droppedMax = 1000;

/** @throws DatabaseError `CorruptedRecord`; UnknownEntry for one with features that this build lacks */
export function parseCatalog(text: string): CatalogDocument {
  const document = parsed(text);
  if (document?.version !== 1 || !Number.isSafeInteger(document.applied))
    throw new DatabaseError('CorruptedRecord', 'the catalog of the cluster cannot be read');
  requireFeatures(document.features ?? []);
  return { ...emptyCatalog, ...document };
}

function parsed(text: string): CatalogDocument | undefined {
  try {
    return JSON.parse(text) as CatalogDocument;
  } catch {
    return undefined;
  }
}

/** @throws UnknownEntry naming those that this build lacks */
export function requireFeatures(names: readonly string[]): void {
  const missing = unknownFeatures(names);
  if (missing.length > 0)
    throw new UnknownEntry(`the cluster uses ${missing.map((name) => `'${name}'`).join(', ')}`);
}

export function formatCatalog(document: CatalogDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
