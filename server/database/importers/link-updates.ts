import { Link } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { EmbeddedDocument, isList, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { RidMap } from '#transaction/write/rid-map.ts';
import { mapWithLinks } from '../operations/export/record-json.ts';
import type { ImportJob } from './import-job.ts';

const updatesPerCommit = 500;

/** Second reading of an import: records whose links name what is known by now are stored whole, some hundred a commit. */
export class LinkUpdates {
  readonly #job: ImportJob;
  readonly #rids: RidMap<Rid>;
  #updates: { readonly rid: Rid; readonly properties: ValueMap }[] = [];
  readonly #renamed = (link: Link): Link | null => {
    const rid = this.#rids.get(link.rid);
    if (rid !== undefined) return new Link(rid);
    // What it pointed to was gone already.
    this.#job.sink.counts.warnings += 1;
    return null;
  };

  /** @param rids new record ids by those of the file */
  constructor(job: ImportJob, rids: RidMap<Rid>) {
    this.#job = job;
    this.#rids = rids;
    job.reporter.step('links', undefined);
  }

  /** The properties with links to records of this database; what leads nowhere is null. */
  renamed(properties: ValueMap): ValueMap {
    return mapWithLinks(properties, this.#renamed);
  }

  /** @returns what is to be awaited before the next one, or undefined */
  add(rid: Rid, properties: ValueMap): Promise<void> | undefined {
    this.#updates.push({ rid, properties });
    return this.#updates.length < updatesPerCommit ? undefined : this.store();
  }

  /** Commits what was added since the last commit. */
  async store(): Promise<void> {
    const updates = this.#updates;
    this.#updates = [];
    const transaction = this.#job.database.state.begin('READ_COMMITTED');
    try {
      for (const { rid, properties } of updates) transaction.update(rid, properties);
      await transaction.commit();
    } finally {
      transaction.rollback();
    }
  }
}

/** What of the properties can be stored before the records that links name are there. */
export function withoutLinks(properties: ValueMap): ValueMap {
  return new Map([...properties].filter(([, value]) => !holdsLink(value)));
}

function holdsLink(value: Value): boolean {
  if (value instanceof Link) return true;
  if (isList(value)) return value.some(holdsLink);
  if (isMap(value)) return [...value.values()].some(holdsLink);
  return value instanceof EmbeddedDocument && [...value.properties.values()].some(holdsLink);
}
