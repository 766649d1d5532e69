import type { LogIndex } from '#core/value/rid.ts';
import type { Overlay } from '../write/overlay.ts';
import type { StatementView } from '../read/statement-view.ts';
import type { CommitReceipt, RecordChange } from '../transaction.ts';

/** What a commit has changed, as its overlay holds it; made into objects only for who asks. */
export class OverlayReceipt implements CommitReceipt {
  readonly index: LogIndex;
  readonly #overlay: Overlay;
  readonly #view: StatementView;

  constructor(index: LogIndex, overlay: Overlay, view: StatementView) {
    this.index = index;
    this.#overlay = overlay;
    this.#view = view;
  }

  /** In the order in which records were first changed. */
  get changes(): readonly RecordChange[] {
    const changes: RecordChange[] = [];
    for (const rid of new Set(this.#overlay.log)) {
      const entry = this.#overlay.entry(rid);
      if (entry === undefined) continue;
      if (entry.isDeleted) {
        if (entry.isNew || entry.record === undefined) continue;
        changes.push({ kind: 'delete', record: entry.record });
        continue;
      }
      const record = this.#view.recordOfEntry(entry);
      if (record !== undefined) changes.push({ kind: entry.isNew ? 'create' : 'update', record });
    }
    return changes;
  }
}
