import { Link, type StoredRecord } from '#core/value/record.ts';
import type { BucketId, Rid } from '#core/value/rid.ts';
import { EmbeddedDocument, isList, isMap, isRecord, type Value } from '#core/value/value.ts';
import type { RecordCursor } from '#transaction/read/read-view.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { Slot } from '../../algebra/expression.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import {
  END,
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { ridOf } from '../record-identity.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface FindReferencesOptions {
  readonly targets: Evaluator;
  readonly buckets: readonly BucketId[];
  readonly target: Slot;
  readonly referrer: Slot;
  readonly fields: Slot;
  readonly description: string;
}

/** Reads all records of the buckets and gives a row for each target that one of them refers to (sql.md 16.2). */
export class FindReferencesOperator implements PhysicalOperator {
  readonly name = 'Find references';
  readonly inputs: readonly PhysicalOperator[] = [];
  readonly description: string;
  readonly #options: FindReferencesOptions;
  #context: ExecutionContext | undefined;
  #wanted: ReadonlySet<Rid> = new Set();
  #bucketAt = 0;
  #cursor: RecordCursor | undefined;
  /** What the record at hand refers to, and is not given yet. */
  #found: (readonly [Rid, readonly string[]])[] = [];
  #referrer: Rid | undefined;
  readonly #share = new WorkShare();

  constructor(options: FindReferencesOptions) {
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#wanted = idsIn(this.#options.targets(context), new Set());
    this.#bucketAt = 0;
    this.#cursor = undefined;
    this.#found = [];
  }

  next(): Pulled {
    const { frame, view } = this.#context as ExecutionContext;
    const { buckets, target, referrer, fields } = this.#options;
    if (this.#wanted.size === 0) return END;
    for (;;) {
      const found = this.#found.shift();
      if (found !== undefined) {
        frame[target] = new Link(found[0]);
        frame[referrer] = new Link(this.#referrer as Rid);
        frame[fields] = found[1];
        return ROW;
      }
      if (this.#share.isSpent() || this.#cursor?.isPauseDue?.() === true) return PAUSE;
      if (this.#cursor === undefined) {
        const bucket = buckets[this.#bucketAt];
        if (bucket === undefined) return END;
        this.#bucketAt += 1;
        this.#cursor = view.scan(bucket, 'ascending');
      }
      const record = this.#cursor.next();
      if (record === undefined) this.#cursor = undefined;
      else if (record !== vetoed) this.#look(record);
    }
  }

  #look(record: StoredRecord): void {
    const found = new Map<Rid, string[]>();
    const note = (rid: Rid, path: string): void => {
      if (!this.#wanted.has(rid)) return;
      const paths = found.get(rid);
      if (paths === undefined) found.set(rid, [path]);
      else if (!paths.includes(path)) paths.push(path);
    };
    if (record.kind === 'edge') {
      note(record.out, '@out.');
      note(record.in, '@in.');
    }
    for (const name of record.propertyNames())
      noteLinks(record.get(name) ?? null, `${name}.`, note);
    this.#referrer = record.rid;
    this.#found = [...found];
  }

  close(): void {
    this.#context = undefined;
    this.#cursor = undefined;
    this.#found = [];
    this.#wanted = new Set();
  }
}

function noteLinks(value: Value, path: string, note: (rid: Rid, path: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (value instanceof Link || isRecord(value)) note(value.rid, path);
  else if (isList(value)) for (const item of value) noteLinks(item, `${path}<elem>.`, note);
  else if (value instanceof EmbeddedDocument) {
    for (const [name, item] of value.properties) noteLinks(item, `${path}${name}.`, note);
  } else if (isMap(value)) {
    for (const [key, item] of value) noteLinks(item, `${path}<map:${key}>.`, note);
  }
}

/** The record ids in a value: itself, its elements, the columns of its rows. */
function idsIn(value: Value, ids: Set<Rid>): ReadonlySet<Rid> {
  const rid = ridOf(value);
  if (rid !== undefined) ids.add(rid);
  else if (isList(value)) for (const item of value) idsIn(item, ids);
  else if (isMap(value)) for (const item of value.values()) idsIn(item, ids);
  return ids;
}
