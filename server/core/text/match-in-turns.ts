import type { RE2JS } from 're2js';
import type { PausingWork, WorkMeter } from '../pausing-work.ts';

/** Characters between two looks whether the turn is over: some ten to a hundred microseconds, milliseconds where each makes a state. */
const charactersPerLook = 1_024;
const unitsPerLook = 32;

/** As the engine names them: at the begin and the end of the text; the end itself; what stands before its begin. */
const anchoredAtBoth = 2;
const endOfText = -1;
const beginOfText = 4;
const before = { context: () => beginOfText };

/** Where a text may have come to. */
interface State {
  /** Empty: it matches no more, whatever comes. */
  readonly nfaStates: readonly number[];
  readonly isMatch: boolean;
}

/**
 * Whether the WHOLE text matches, with the automaton of the engine, which is led from character to character here so that it can stand
 * still. Where the engine would go over to a slower machine, as there are too many states to be kept, they are forgotten and made anew:
 * three times as slow as that machine at most.
 */
export function* matchesInTurns(
  { re2Input }: RE2JS,
  text: string,
  meter: WorkMeter,
): PausingWork<boolean> {
  const { dfa } = re2Input;
  const search = { resetPos: -1 };
  let state: State = dfa.start(before, 0);
  const step = (kind: number, character: number, at: number): void => {
    const next: State | null = dfa.stepOrReset(state, kind, character, anchoredAtBoth, at, search);
    if (next !== null) {
      state = next;
      return;
    }
    search.resetPos = -1;
    state = dfa.step(dfa.resetCache(state), kind, character, anchoredAtBoth);
  };
  let lookAt = charactersPerLook;
  for (let at = 0; at < text.length; ) {
    const character = text.codePointAt(at) as number;
    step(dfa.runeClass(character), character, at);
    if (state.nfaStates.length === 0) return false;
    at += character > 0xffff ? 2 : 1;
    if (at < lookAt) continue;
    lookAt = at + charactersPerLook;
    if (meter.isSpent(unitsPerLook)) yield;
  }
  step(dfa.numClasses, endOfText, text.length);
  return state.isMatch;
}
