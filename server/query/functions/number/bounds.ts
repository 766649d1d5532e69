import type { Value, ValueList, ValueMap } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import * as size from '../../evaluate/turns/value-size.ts';
import { refusal } from '../arguments.ts';

/** Limits of what a function may make (limits.md 9); every refusal names the setting. */

/** Passes a text on, or refuses it above `queryMaxValueSize`. Cost: one comparison for short texts. */
export function boundedText(text: string, context: EvaluationContext): string {
  return size.boundedText(text, context);
}

/** Passes on a list made of other values, or refuses it for its size, its nesting or its number of elements. */
export function boundedList(list: ValueList, context: EvaluationContext): ValueList {
  return size.boundedGrowth(list, context);
}

/** Passes on a map made of other values, or refuses it for its size or its nesting. */
export function boundedMap(map: ValueMap, context: EvaluationContext): ValueMap {
  return size.boundedContainer(map, context);
}

/** To be asked before a value of so many bytes is made. */
export function requireBytes(bytes: number, context: EvaluationContext): void {
  const { valueBytesMax } = context.limits;
  if (bytes > valueBytesMax)
    throw refusal(
      `a value of ${bytes} bytes is larger than ${valueBytesMax} bytes; the limit is service.queryMaxValueSize`,
    );
}

/** To be asked before a collection of so many elements is made or grows to. */
export function requireElements(count: number, what: string, context: EvaluationContext): void {
  const { elementCountMax } = context.limits;
  if (elementCountMax > 0 && count > elementCountMax)
    throw refusal(
      `${what} would hold more than ${elementCountMax} elements; the limit is service.queryMaxHeapElementsAllowedPerOp`,
    );
}

/** `boundedList` or `boundedMap` for collections, other values as they are. */
export function boundedValue(value: Value, context: EvaluationContext): Value {
  if (Array.isArray(value)) return boundedList(value as ValueList, context);
  return value instanceof Map ? boundedMap(value, context) : value;
}
