import type { Value } from '#core/value/value.ts';
import type { Slot } from '../../algebra/expression.ts';
import { HeldMemory } from '../hold/held-memory.ts';
import {
  PAUSE,
  ROW,
  type ExecutionContext,
  type PhysicalOperator,
  type Pulled,
} from '../operator.ts';
import { PathWalk, type PathWalkOptions } from './path-walk.ts';
import { WorkShare } from '../hold/work-share.ts';

export interface ExpandPathOptions extends PathWalkOptions {
  readonly input: PhysicalOperator;
  readonly from: Slot;
  readonly description: string;
}

/** For each input row the ends of the paths that repeat the moves, one row per path. */
export class ExpandPathOperator implements PhysicalOperator {
  readonly name = 'Expand path';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly #options: ExpandPathOptions;
  #context: ExecutionContext | undefined;
  #memory: HeldMemory | undefined;
  #walk: PathWalk | undefined;
  #isWalking = false;
  readonly #share = new WorkShare();

  constructor(options: ExpandPathOptions) {
    this.inputs = [options.input];
    this.description = options.description;
    this.#options = options;
  }

  open(context: ExecutionContext): void {
    this.#context = context;
    this.#memory = new HeldMemory(context, 'a path');
    this.#walk = new PathWalk(this.#options, context, this.#memory);
    this.#isWalking = false;
    this.#options.input.open(context);
  }

  next(): Pulled {
    const walk = this.#walk as PathWalk;
    for (;;) {
      if (this.#share.isSpent()) return PAUSE;
      if (this.#isWalking) {
        const stepped = walk.step();
        if (stepped === 'found') return ROW;
        if (stepped === 'end') this.#isWalking = false;
        continue;
      }
      const pulled = this.#options.input.next();
      if (pulled !== ROW) return pulled;
      const { frame, view } = this.#context as ExecutionContext;
      walk.start(view, frame[this.#options.from] as Value);
      this.#isWalking = true;
    }
  }

  close(): void {
    this.#memory?.release();
    this.#memory = undefined;
    this.#walk = undefined;
    this.#context = undefined;
    this.#options.input.close();
  }
}
