import type { DatabaseState } from '#transaction/database-state.ts';

/** Before the first edge with its outgoing side only is there, nobody walks edges of the type backwards any more. */
export async function takeOneWayEdges(state: DatabaseState, name: string): Promise<void> {
  if (state.catalog.typeNamed(name)?.hasOneWayEdges) return;
  await state.alter({ kind: 'alter-type', name, items: [{ kind: 'one-way-edges' }] });
}
