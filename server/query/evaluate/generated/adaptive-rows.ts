import type { StoredRecord } from '#core/value/record.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import type { Value } from '#core/value/value.ts';
import type { Block } from '#storage/format/block.ts';
import type { Column, Shape } from '#storage/format/shape.ts';
import { ClosureRows } from './block-scan.ts';
import type { CompiledScan, RowSource, ScanClosures, ScanSpec } from './block-scan.ts';
import { boundConstant, boundList, boundPattern } from '../bound-constant.ts';
import type { EvaluationContext } from '../context.ts';
import { longMembers } from '../comparison/membership.ts';
import { compileProgram, emitProgram } from './generate.ts';
import type { BoundForms, ProgramFactory, RowProgram } from './generate.ts';
import type { ScanTerms } from './scan-terms.ts';

/**
 * A scan that starts with closures and goes over to generated code once its plan has seen enough rows to pay for compiling.
 * Code is made per shape of rows and form of constants, and kept with the plan. Rows that the code hands back go through
 * the closures one by one.
 */
export class AdaptiveScan implements CompiledScan {
  readonly #spec: ScanSpec;
  readonly #closures: ScanClosures;
  readonly #terms: ScanTerms;
  readonly #factories = new Map<string, ProgramFactory>();
  /** Rows seen by all executions so far. */
  rowCount: number;

  /** `startsHot`: generate at once (tests). */
  constructor(
    spec: ScanSpec,
    closures: ScanClosures,
    terms: ScanTerms,
    options: { readonly startsHot: boolean },
  ) {
    this.#spec = spec;
    this.#closures = closures;
    this.#terms = terms;
    this.rowCount = options.startsHot ? hotRowCount : 0;
  }

  bind(context: EvaluationContext): RowSource {
    return new AdaptiveRows(this, this.#spec, this.#closures, context);
  }

  get isHot(): boolean {
    return this.rowCount >= hotRowCount;
  }

  /**
   * The constants of one execution.
   * @returns undefined when one of them fails: the closures then fail on the row that needs it, if any does
   */
  constants(context: EvaluationContext): readonly Value[] | undefined {
    const mayBeSuspended = context.mayBeSuspended === true;
    // At once, also when it is large: closures would compute it anew for each row. Many that are large the closures keep.
    context.mayBeSuspended = false;
    const madeMax = madeBytes.total + madeForConstants;
    const constants: Value[] = [];
    try {
      for (const evaluate of this.#terms.constants) {
        if (madeBytes.total > madeMax) return undefined;
        constants.push(evaluate(context));
      }
      return constants;
    } catch {
      return undefined;
    } finally {
      context.mayBeSuspended = mayBeSuspended;
    }
  }

  /** A program for rows of this shape, bound to one execution; undefined when the plan has enough of them. */
  program(
    shape: Shape,
    constants: readonly Value[],
    context: EvaluationContext,
  ): RowProgram | undefined {
    const { source, values } = emitProgram(
      this.#terms,
      this.#spec,
      shape,
      formsOf(constants, context),
    );
    let factory = this.#factories.get(source);
    if (factory === undefined) {
      if (this.#factories.size >= programCountMax) return undefined;
      factory = compileProgram(source);
      this.#factories.set(source, factory);
    }
    const { frame, view } = context;
    return factory({ frame, context, snapshot: view.snapshot, values }, shape);
  }
}

/** Bytes of large values that constants may make, but for the last of them: a value of megabytes takes some milliseconds. */
const madeForConstants = 4 * 1024 * 1024;

/** Rows after which compiling pays: some 100 microseconds of closures. */
const hotRowCount = 512;
/** Different codes of one plan: shapes times forms of constants. */
const programCountMax = 32;

function formsOf(constants: readonly Value[], context: EvaluationContext): BoundForms {
  const { formats } = context;
  const value = (number: number) => constants[number] ?? null;
  return {
    value,
    constant: (number: number, column: Column, isReversed: boolean) =>
      boundConstant(value(number), column.kind, isReversed, formats),
    list: (number: number, column: Column) =>
      boundList(value(number), column.kind, (list) => longMembers(list, context)),
    pattern: (number: number, column: Column, ignoreCase: boolean) =>
      boundPattern(value(number), column.kind, { ignoreCase }),
  };
}

class AdaptiveRows implements RowSource {
  readonly #scan: AdaptiveScan;
  readonly #context: EvaluationContext;
  readonly #closures: ClosureRows;
  readonly #step: 1 | -1;
  readonly #programs = new Map<Shape, RowProgram | undefined>();
  #constants: readonly Value[] | undefined;
  /** The code for the shape of the last row; undefined before the first and where there is none. */
  #program: RowProgram | undefined;
  #isGenerated = false;
  #mustUseClosures = false;

  constructor(
    scan: AdaptiveScan,
    spec: ScanSpec,
    closures: ScanClosures,
    context: EvaluationContext,
  ) {
    this.#scan = scan;
    this.#context = context;
    this.#closures = new ClosureRows(spec, closures, context);
    this.#step = spec.order === 'ascending' ? 1 : -1;
  }

  next(block: Block, slot: number): number {
    if (!this.#isGenerated && !this.#warmUp(block, slot)) return this.#closures.next(block, slot);
    let at = slot;
    for (;;) {
      const program = this.#program;
      const found =
        program === undefined ? handBack(block, at, this.#step) : program.next(block, at);
      if (found >= -1) return found;
      const handedBack = -2 - found;
      if (this.#takesOver(block, handedBack)) {
        at = handedBack;
        continue;
      }
      if (this.accept(this.#context.view.snapshot.recordAt(block, handedBack))) return handedBack;
      at = handedBack + this.#step;
    }
  }

  count(block: Block): number {
    if (!this.#closures.hasPredicate) return block.rowCount;
    if (!this.#isGenerated && !this.#warmUp(block, -1)) return this.#closures.count(block);
    const { snapshot } = this.#context.view;
    const last = block.slotCount - 1;
    let at = this.#step > 0 ? 0 : last;
    let count = 0;
    for (;;) {
      const program = this.#program;
      if (program) program.counter.rowCount = 0;
      const found = program ? program.count(block, at) : handBack(block, at, this.#step);
      if (program) count += program.counter.rowCount;
      if (found === -1) return count;
      const handedBack = -2 - found;
      if (this.#takesOver(block, handedBack)) {
        at = handedBack;
        continue;
      }
      if (this.#closures.test(snapshot.recordAt(block, handedBack))) count++;
      at = handedBack + this.#step;
    }
  }

  accept(record: StoredRecord): boolean {
    return this.#closures.accept(record);
  }

  /** True when the code of another shape can go on at this slot; false when the row is one for the closures. */
  #takesOver(block: Block, slot: number): boolean {
    const { shape } = this.#context.view.snapshot.recordAt(block, slot);
    if (this.#program?.shape === shape) return false;
    if (!this.#programs.has(shape))
      this.#programs.set(
        shape,
        this.#scan.program(shape, this.#constants as readonly Value[], this.#context),
      );
    this.#program = this.#programs.get(shape);
    return this.#program !== undefined;
  }

  /** Counts the rows of a block once, at its start. @returns true from the moment on when code is used */
  #warmUp(block: Block, slot: number): boolean {
    if (this.#mustUseClosures) return false;
    if (!this.#scan.isHot) {
      const isBlockStart = slot === (this.#step > 0 ? 0 : block.slotCount - 1) || slot < 0;
      if (isBlockStart) this.#scan.rowCount += block.rowCount;
      return false;
    }
    this.#constants = this.#scan.constants(this.#context);
    this.#mustUseClosures = this.#constants === undefined;
    this.#isGenerated = !this.#mustUseClosures;
    return this.#isGenerated;
  }
}

/** The answer of code that hands every row back. */
function handBack(block: Block, slot: number, step: 1 | -1): number {
  const at = step > 0 ? block.nextSlot(slot) : block.previousSlot(slot);
  return at < 0 ? -1 : -2 - at;
}
