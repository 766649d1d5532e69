import type { ByteText } from '#core/text/byte-text.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { Reply, TransientCommand } from '#query/algebra/commands.ts';
import type { KeySpace, KeyValueStore } from './key-value-store.ts';
import type { Pace } from './pace.ts';
import type { LocateSpace } from './staged-keys.ts';
import type { Locate, Located } from './transient-operations.ts';

/*
 * Commands of many keys in slices. What others see stays whole: while one runs in slices, nobody else gets at the maps that its
 * keys live in (`KeyValueStore.alone`), as if it were done in one go.
 */

type ManyKeys = TransientCommand & { readonly kind: 'exists' | 'delete' };

/** Keys of a command that is done in one go: some 100 microseconds. */
const keysAtOnceMax = 1000;
/** Between two looks at the clock. */
const keysPerLook = 256;

export function isLong(command: TransientCommand): command is ManyKeys {
  return 'keys' in command && command.keys.length > keysAtOnceMax;
}

/** @throws DatabaseError for keys that the caller may not use, with nothing changed; what the pace throws, between two keys */
export async function runLong(
  command: ManyKeys,
  around: { readonly store: KeyValueStore; readonly locate: LocateSpace; readonly pace: Pace },
): Promise<Reply> {
  const { store, pace } = around;
  const located = new LocatedKeys();
  for (let at = 0; at < command.keys.length; at += 1) {
    located.add(around.locate(command.keys[at] as ByteText, touchOf(command)));
    if (at % keysPerLook === 0 && pace.isSpent) await pace.pause();
  }
  return store.alone(located.spaces, () => counted(command, (at) => located.at(at), pace));
}

/** Where each key lives. A million little objects beside the keys would be collected in one turn. */
class LocatedKeys {
  readonly spaces = new Set<KeySpace>();
  readonly #keys: ByteText[] = [];
  /** Of each key; undefined while they are all of one. */
  #spaces: KeySpace[] | undefined;
  #only: KeySpace | undefined;

  add({ keys, key }: ReturnType<LocateSpace>): void {
    this.spaces.add(keys);
    this.#only ??= keys;
    if (this.#spaces === undefined && keys !== this.#only)
      this.#spaces = this.#keys.map(() => this.#only as KeySpace);
    this.#spaces?.push(keys);
    this.#keys.push(key);
  }

  at(place: number): Located {
    return {
      keys: (this.#spaces?.[place] ?? this.#only) as KeySpace,
      key: this.#keys[place] ?? '',
    };
  }
}

/** As `runLong` inside of a block, whose changes nobody sees yet. */
export function runLongStaged(command: ManyKeys, locate: Locate, pace: Pace): Promise<Reply> {
  const { keys } = command;
  return counted(command, (at) => locate(keys[at] as ByteText, touchOf(command)), pace);
}

function touchOf({ kind }: ManyKeys): 'read' | 'delete' {
  return kind === 'exists' ? 'read' : 'delete';
}

async function counted(
  command: ManyKeys,
  locatedAt: (at: number) => Located,
  pace: Pace,
): Promise<number> {
  let count = 0;
  for (let at = 0; at < command.keys.length; at += 1) {
    const { keys, key } = locatedAt(at);
    if (keys.get(key) !== undefined) {
      count += 1;
      if (command.kind === 'delete') keys.remove(key);
    }
    if (at % keysPerLook === 0 && pace.isSpent) await pace.pause();
  }
  return count;
}

/** Does all of the work, with a pause where the slice is spent. */
export async function doneInSlices<T>(work: PausingWork<T>, pace: Pace): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (step.value !== undefined) await step.value.over;
    if (pace.isSpent) await pace.pause();
  }
}
