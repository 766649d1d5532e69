const turnsMax = 1_000_000;

/** Waits, turn by turn of the event loop, until something is so; gives up, so that a broken test ends. */
export async function turnsUntil(isSo: () => boolean): Promise<void> {
  for (let turn = 0; !isSo(); turn += 1) {
    if (turn >= turnsMax) throw new Error('what was waited for did not happen');
    await new Promise((done) => setImmediate(done));
  }
}
