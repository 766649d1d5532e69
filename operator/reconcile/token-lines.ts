/*
 * Another token takes over in three steps (operator.md 8.14): all accept both, then all send the new one, then all accept it alone.
 * The first line of the file that members read is sent, each is accepted; a kubelet brings a change within a minute and a half.
 */

/** @returns the lines to write next, oldest step first; undefined: the wanted one is there alone */
export function nextLines(
  present: readonly string[],
  wanted: string,
  hasSpread: boolean,
): readonly string[] | 'wait' | undefined {
  const [sent, accepted] = present;
  if (sent === undefined) return [wanted];
  if (accepted === undefined) return sent === wanted ? undefined : [sent, wanted];
  if (!hasSpread) return 'wait';
  if (accepted === wanted) return [wanted, sent];
  // The old one goes; of a third one, begun meanwhile, later.
  return [sent];
}
