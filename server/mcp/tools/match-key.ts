import type { Value } from '#core/value/value.ts';
import { quotedName } from './arguments.ts';

/** Parameters of all conditions: written out in each they would be most of the text. */
export const kindParameters: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['numbers', ['BYTE', 'SHORT', 'INTEGER', 'LONG', 'FLOAT', 'DOUBLE', 'DECIMAL']],
]);

interface Key {
  readonly property: string;
  readonly value: Value;
  readonly parameter: string;
  /** Values that differ in kind are different, however alike they are. */
  readonly isToldByKind: boolean;
}

/**
 * A property and the value that tell a vertex from all others. SQL takes 7, '7' and true for equal; two keys that differ in kind
 * are two vertices here, as with MERGE of Cypher (mcp.md 4.9). Where a type declares the property, the value is of that type once it
 * is stored, so what SQL compares is what is stored.
 */
export class MatchKey {
  readonly #name: string;
  readonly #key: Key;

  /** @throws ToolFailure for a name that could end its quotes */
  constructor(key: Key) {
    this.#name = quotedName(key.property, key.property.slice(0, 60));
    this.#key = key;
  }

  /** @param declared properties that the type declares */
  condition(declared: ReadonlySet<string>): string {
    const { property, value, parameter, isToldByKind } = this.#key;
    const equal = `${this.#name} = :${parameter}`;
    const kind = !isToldByKind || declared.has(property) ? undefined : kindOf(value);
    return kind === undefined ? equal : `${equal} AND ${this.#name}.type() ${kind}`;
  }
}

/** Texts that numbers and booleans are equal to. */
const words: ReadonlySet<string> = new Set(['', 'true', 'false', 'nan', 'infinity']);
const wordLengthMax = 8;

/** Undefined for a text that nothing but a text is equal to. */
function kindOf(value: Value): string | undefined {
  if (typeof value === 'boolean') return "= 'BOOLEAN'";
  if (typeof value !== 'string') return 'IN :numbers';
  const text = value.trim();
  const isWord = text.length <= wordLengthMax && words.has(text.toLowerCase());
  const isAmbiguous = isWord || /^[-+.\d]/.test(text);
  return isAmbiguous ? "= 'STRING'" : undefined;
}
