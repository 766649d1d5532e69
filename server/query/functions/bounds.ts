import type { Value } from '#core/value.ts';
import type { EvaluationContext } from '#query/evaluate/context.ts';
import { refusal } from './arguments.ts';

/** Limits of what a function may make (limits.md 9); every refusal names the setting. */

/**
 * Passes a text on, or refuses it above `queryMaxValueSize`.
 * Cost: nothing for texts below a third of the limit; UTF-8 has at most three bytes for a UTF-16 unit.
 */
export function boundedText(text: string, context: EvaluationContext): string {
  const { valueBytesMax } = context.limits;
  if (text.length * 3 > valueBytesMax && Buffer.byteLength(text) > valueBytesMax)
    throw tooLarge(Buffer.byteLength(text), context);
  return text;
}

/** To be asked before a value of so many bytes is made. */
export function requireBytes(bytes: number, context: EvaluationContext): void {
  if (bytes > context.limits.valueBytesMax) throw tooLarge(bytes, context);
}

/** To be asked before a collection of so many elements is made or grows to. */
export function requireElements(count: number, what: string, context: EvaluationContext): void {
  const { elementCountMax } = context.limits;
  if (elementCountMax > 0 && count > elementCountMax)
    throw refusal(
      `${what} would hold more than ${elementCountMax} elements; the limit is service.queryMaxHeapElementsAllowedPerOp`,
    );
}

/** A list that grew by concatenation. */
export function boundedList(
  list: readonly Value[],
  what: string,
  context: EvaluationContext,
): readonly Value[] {
  requireElements(list.length, what, context);
  return list;
}

function tooLarge(bytes: number, context: EvaluationContext) {
  return refusal(
    `a value of ${bytes} bytes is larger than ${context.limits.valueBytesMax} bytes; the limit is service.queryMaxValueSize`,
  );
}
