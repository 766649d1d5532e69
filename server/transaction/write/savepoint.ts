import type { Overlay } from './overlay.ts';
import type { RecordChange, Savepoint } from '../transaction.ts';
import { UndoLog } from './undo-log.ts';

/** The transaction that a savepoint stands in. */
export interface SavepointHost {
  /** @throws DatabaseError when it has ended */
  requireOpen(): void;
  /** What watchers will be told of it; undefined while nobody watches. */
  recorded(): RecordChange[] | undefined;
  /** How often it gave up, or stored, all that it had written. */
  discardCount(): number;
  discard(): void;
  /** The overlay was set back: what was derived from it is wrong. */
  forgetWrites(): void;
}

/** Marks the place where the writes in `overlay` are now. */
export function openSavepoint(overlay: Overlay, host: SavepointHost): Savepoint {
  overlay.undo ??= new UndoLog();
  const { undo, heldBytes } = overlay;
  const place = undo.open();
  const logLength = overlay.log.length;
  const recordedCount = host.recorded()?.length ?? 0;
  const discardCount = host.discardCount();
  let isOver = false;
  const release = (): void => {
    if (isOver) return;
    isOver = true;
    if (undo.close()) overlay.undo = undefined;
  };
  return {
    release,
    undo: () => {
      host.requireOpen();
      if (isOver) return;
      // What was written before is stored or given up: only what came after it can be taken back.
      if (discardCount !== host.discardCount()) host.discard();
      else {
        undo.undoTo(place);
        overlay.log.length = logLength;
        overlay.heldBytes = heldBytes;
        const recorded = host.recorded();
        if (recorded !== undefined) recorded.length = recordedCount;
        host.forgetWrites();
      }
      release();
    },
  };
}
