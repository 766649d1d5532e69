import type { SecurityOperation } from '#security/security-operation.ts';
import type { Baseline } from '../bootstrap/baseline.ts';
import { type CatalogDocument, parseCatalog } from './catalog-document.ts';
import type { MemberDatabase } from '../replication/server-entries.ts';

/*
 * Bodies of the entries that concern the server (ha.md 5.1): JSON, since they are few and people read them when something is wrong.
 */

/** The first entry of a cluster: the users and groups of its first leader become those of all (ha.md 5.12 rule 8). */
export interface ClusterInit {
  readonly createdAt: number;
  readonly security: readonly SecurityOperation[];
  /** Databases that were there before; absent: none, as with earlier versions. */
  readonly baseline?: Baseline;
}

export function encodeBody(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

export function decodeCreate(body: Uint8Array): MemberDatabase {
  return decode(body) as MemberDatabase;
}

export function decodePublish(body: Uint8Array): {
  readonly uuid: string;
  readonly replaces: boolean;
} {
  return decode(body) as { uuid: string; replaces: boolean };
}

export function decodeStageAbort(body: Uint8Array): string {
  return (decode(body) as { uuid: string }).uuid;
}

export function decodeFeature(body: Uint8Array): string {
  return (decode(body) as { feature: string }).feature;
}

/** The uuid. */
export function decodeDrop(body: Uint8Array): string {
  return Buffer.from(body).toString();
}

export function decodeInit(body: Uint8Array): ClusterInit {
  return decode(body) as ClusterInit;
}

export function decodeSecurity(body: Uint8Array): readonly SecurityOperation[] {
  return decode(body) as readonly SecurityOperation[];
}

/** @throws DatabaseError `CorruptedRecord` for one of another version */
export function decodeImage(body: Uint8Array): {
  readonly catalog: CatalogDocument;
  readonly security: readonly SecurityOperation[];
} {
  const { catalog, security } = decode(body) as {
    catalog: object;
    security: readonly SecurityOperation[];
  };
  return { catalog: parseCatalog(JSON.stringify(catalog)), security };
}

function decode(body: Uint8Array): unknown {
  return JSON.parse(Buffer.from(body).toString());
}
