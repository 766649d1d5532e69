import { isTurnOver } from '#core/turn-end.ts';

/**
 * How a recursive descent pauses without being written twice: `parseInSteps` ends it at a place to pause and begins it anew, and
 * what its loops (chains, lists, clauses) had read already is kept here, so that each goes on where it stood. What stands at one
 * place of a text is the same at each reading, so nothing else has to be remembered. Texts that are read at once have no memo.
 */

/** Thrown through the grammar at a place to pause. */
class Pause extends Error {}
const pause = new Pause('the parser pauses');

export function isPause(error: unknown): boolean {
  return error === pause;
}

/** Tokens between two places to pause: a millisecond or two. */
const tokensPerStepMax = 2_000;
/** Before the first pause, twice as many before each that follows: the first texts are read by code that is not compiled. */
const tokensOfFirstStep = 250;

/** Tokens after which it is looked whether the turn is over. */
const tokensPerLook = 32;

/** A loop of the grammar; two of one site never begin at one token and hold each other. */
export class LoopSite<State> {
  static #count = 0;
  readonly id: number;

  constructor() {
    this.id = LoopSite.#count;
    LoopSite.#count += 1;
  }

  /** Told apart by its type only. */
  declare readonly state: State;
}

/** What a loop has read. */
export interface Loop<State> {
  readonly site: LoopSite<State>;
  readonly state: State;
  /** The token with which it goes on. */
  index: number;
  nodeCount: number;
  /** Loops that were known when it began: those after them stand inside of it. */
  readonly outerCount: number;
}

const siteCountMax = 64;

/** Loops by the token with which they begin. */
export class LoopMemo {
  readonly #loops = new Map<number, Loop<unknown>>();
  readonly #keys: number[] = [];
  /** No loop that is known begins here or later. */
  #frontier = 0;
  #stepStart = 0;
  #lookedAt = 0;
  #tokensPerStep = tokensOfFirstStep;

  /** @param entry the token with which the loop begins */
  find<State>(site: LoopSite<State>, entry: number): Loop<State> | undefined {
    if (entry >= this.#frontier) return undefined;
    const loop = this.#loops.get(entry * siteCountMax + site.id);
    if (loop?.site !== site) return undefined;
    this.#stepStart = loop.index;
    this.#lookedAt = loop.index;
    return loop as Loop<State>;
  }

  open<State>(
    site: LoopSite<State>,
    state: State,
    at: { readonly entry: number; readonly index: number; readonly nodeCount: number },
  ): Loop<State> {
    const { entry, index, nodeCount } = at;
    const loop = { site, state, index, nodeCount, outerCount: this.#keys.length + 1 };
    const key = entry * siteCountMax + site.id;
    this.#loops.set(key, loop);
    this.#keys.push(key);
    return loop;
  }

  /** An item more was read. @throws the pause when it is time for one */
  took(loop: Loop<unknown>, index: number, nodeCount: number): void {
    loop.index = index;
    loop.nodeCount = nodeCount;
    // Nobody comes by the loops inside of that item again.
    while (this.#keys.length > loop.outerCount) this.#loops.delete(this.#keys.pop() as number);
    if (index - this.#lookedAt < tokensPerLook) return;
    this.#lookedAt = index;
    if (index - this.#stepStart >= this.#tokensPerStep || isTurnOver()) this.#pauseBefore(index);
  }

  /** Work on the one token that the loop is about has come to a place to pause. @throws the pause */
  stays(loop: Loop<unknown>): never {
    this.#pauseBefore(loop.index + 1);
  }

  /** The token is long, and not read to its end. @throws the pause */
  interrupts(token: number): never {
    this.#pauseBefore(token + 1);
  }

  #pauseBefore(frontier: number): never {
    this.#frontier = frontier;
    this.#stepStart = 0;
    this.#lookedAt = 0;
    this.#tokensPerStep = Math.min(tokensPerStepMax, this.#tokensPerStep * 2);
    throw pause;
  }
}
