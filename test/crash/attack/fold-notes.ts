import { existsSync, readFileSync } from 'node:fs';

/** What `low-bounds.ts` notes, by its letters. */
export const foldNotes = {
  s: 'segments of one checkpoint or commit',
  a: 'segments that took in others',
  f: 'parts of folds with checkpoints',
  e: 'folds that ended with a checkpoint',
  q: 'parts of folds in quiet times and of COMPACT INDEX',
  m: 'large commits that went into chunks',
} as const;

export type FoldNote = keyof typeof foldNotes;

/** How often each was noted, in a sentence each. */
export function foldCounts(path: string): readonly (readonly [text: string, count: number])[] {
  const noted = existsSync(path) ? readFileSync(path, 'latin1') : '';
  return Object.entries(foldNotes).map(([letter, text]) => [text, noted.split(letter).length - 1]);
}
