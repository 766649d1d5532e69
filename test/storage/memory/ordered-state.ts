/** Of one sub-database, in the order of the keys' bytes, which are those of latin1 texts. Never changed. */
export interface Table {
  readonly keys: readonly string[];
  readonly values: readonly Uint8Array[];
}

/** All of an environment at one time, by sub-database. Never changed. */
export type State = ReadonlyMap<string, Table>;

/** A put of the bytes as they are now, or a removal. */
export interface Change {
  readonly store: string;
  readonly key: string;
  readonly bytes: Uint8Array | undefined;
}

export const noState: State = new Map();
const emptyTable: Table = { keys: [], values: [] };

export function tableOf(state: State, store: string): Table {
  return state.get(store) ?? emptyTable;
}

/** The state with the changes, of which a later one of the same key counts. Takes a copy of the lists of keys, not of values. */
export function changed(state: State, changes: readonly Change[]): State {
  const byStore = new Map<string, Map<string, Uint8Array | undefined>>();
  for (const { store, key, bytes } of changes) {
    let ofStore = byStore.get(store);
    if (ofStore === undefined) {
      ofStore = new Map();
      byStore.set(store, ofStore);
    }
    ofStore.set(key, bytes);
  }
  const next = new Map(state);
  for (const [store, ofStore] of byStore) next.set(store, merged(tableOf(state, store), ofStore));
  return next;
}

function merged({ keys, values }: Table, changes: Map<string, Uint8Array | undefined>): Table {
  const sorted = [...changes].sort(([a], [b]) => (a < b ? -1 : 1));
  const nextKeys: string[] = [];
  const nextValues: Uint8Array[] = [];
  let at = 0;
  const keepBelow = (key: string | undefined) => {
    for (; at < keys.length && (key === undefined || (keys[at] as string) < key); at++) {
      nextKeys.push(keys[at] as string);
      nextValues.push(values[at] as Uint8Array);
    }
  };
  for (const [key, bytes] of sorted) {
    keepBelow(key);
    if (keys[at] === key) at += 1;
    if (bytes === undefined) continue;
    nextKeys.push(key);
    nextValues.push(new Uint8Array(bytes));
  }
  keepBelow(undefined);
  return { keys: nextKeys, values: nextValues };
}
