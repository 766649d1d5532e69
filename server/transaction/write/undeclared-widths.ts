import type { IntegerWidth, IntegerWidths } from '#core/value/integer-width.ts';
import type { WriteRules } from './write-rules.ts';

/** The type of a declared property says how wide it is. */
export function undeclared(
  widths: IntegerWidths,
  { properties }: WriteRules,
): IntegerWidths | undefined {
  let kept: Map<string, IntegerWidth> | undefined;
  for (const name of widths.keys()) {
    if (!properties.has(name)) continue;
    kept ??= new Map(widths);
    kept.delete(name);
  }
  return kept ?? widths;
}
