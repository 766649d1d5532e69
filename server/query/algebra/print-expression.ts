import { unreachable } from '#core/assert.ts';
import { formatRid } from '#core/value/rid.ts';
import { kindOf, type Value } from '#core/value/value.ts';
import type { Expression, Slot } from './expression.ts';

/** Longest text printed for one list or chain of operands; the rest becomes `…`. */
const partCountMax = 20;
const textLengthMax = 60;

/** How slots are named in printed plans. */
export type SlotNames = (slot: Slot) => string;

export const numberedSlots: SlotNames = (slot) => `s${slot}`;

/**
 * The expression as text for EXPLAIN and golden files. Not meant to be parsed again. Long constants and long chains are cut.
 */
export function printExpression(
  expression: Expression,
  slotNames: SlotNames = numberedSlots,
): string {
  return new Printer(slotNames).print(expression);
}

class Printer {
  readonly #slotNames: SlotNames;
  constructor(slotNames: SlotNames) {
    this.#slotNames = slotNames;
  }

  print(expression: Expression): string {
    switch (expression.op) {
      case 'Constant':
        return printConstant(expression.value);
      case 'Parameter':
        return `:${expression.name}`;
      case 'Slot':
        return this.#slotNames(expression.slot);
      case 'Variable':
        return `$${expression.name}`;
      case 'Property':
        return `${this.#tight(expression.of)}.${expression.name}`;
      case 'Attribute':
        return `${this.#tight(expression.of)}.@${expression.attribute}`;
      case 'IsDefined':
        return `${this.#tight(expression.of)}.${expression.name} IS DEFINED`;
      case 'Call':
        return this.#call(expression);
      case 'Negate':
        return `-${this.#tight(expression.operand)}`;
      case 'Arithmetic':
        return this.#arithmetic(expression);
      case 'Concatenate':
        return this.#chain(expression.operands, '||');
      case 'Coalesce':
        return this.#chain(expression.operands, '??');
      case 'And':
        return this.#chain(expression.operands, 'AND');
      case 'Or':
        return this.#chain(expression.operands, 'OR');
      case 'Xor':
        return this.#chain(expression.operands, 'XOR');
      case 'Truth':
        return this.print(expression.operand);
      case 'TextPart':
        return `${this.#tight(expression.text)} ${textParts[expression.kind]} ${this.#tight(expression.part)}`;
      case 'Compare':
        return `${this.#tight(expression.left)} ${expression.operator} ${this.#tight(expression.right)}`;
      case 'StrictEquals':
        return `${this.#tight(expression.left)} === ${this.#tight(expression.right)}`;
      case 'Not':
        return `NOT ${this.#tight(expression.operand)}`;
      case 'IsNull':
        return `${this.#tight(expression.operand)} IS NULL`;
      case 'In':
        return expression.isBracketed
          ? `${this.#tight(expression.element)} IN (${this.#tight(expression.list)})`
          : `${this.#tight(expression.element)} IN ${this.#tight(expression.list)}`;
      case 'Between':
        return `${this.#tight(expression.operand)} BETWEEN ${this.#tight(expression.low)} AND ${this.#tight(expression.high)}`;
      case 'Like':
        return `${this.#tight(expression.text)} ${expression.ignoreCase ? 'ILIKE' : 'LIKE'} ${this.#tight(expression.pattern)}`;
      case 'Matches':
        return `${this.#tight(expression.text)} MATCHES ${this.#tight(expression.pattern)}`;
      case 'Contains':
        return `${this.#tight(expression.collection)} CONTAINS ${expression.kind} ${this.#tight(expression.value)}`;
      case 'IsOfType':
        return `${this.#tight(expression.operand)} IS OF ${expression.types.join('|')}`;
      default:
        return this.#structured(expression);
    }
  }

  #structured(expression: Exclude<Expression, { readonly op: PlainOp }>): string {
    switch (expression.op) {
      case 'Quantifier':
        return `${expression.kind}(${this.#slotNames(expression.element)} IN ${this.print(expression.list)} WHERE ${this.print(expression.predicate)})`;
      case 'Comprehension': {
        const where = expression.predicate ? ` WHERE ${this.print(expression.predicate)}` : '';
        const result = expression.result ? ` | ${this.print(expression.result)}` : '';
        return `[${this.#slotNames(expression.element)} IN ${this.print(expression.list)}${where}${result}]`;
      }
      case 'Reduce':
        return `reduce(${this.#slotNames(expression.accumulator)} = ${this.print(expression.initial)}, ${this.#slotNames(expression.element)} IN ${this.print(expression.list)} | ${this.print(expression.step)})`;
      case 'Case': {
        const branches = expression.branches
          .slice(0, partCountMax)
          .map((branch) => ` WHEN ${this.print(branch.when)} THEN ${this.print(branch.then)}`);
        const otherwise = expression.otherwise ? ` ELSE ${this.print(expression.otherwise)}` : '';
        return `CASE${branches.join('')}${otherwise} END`;
      }
      case 'List':
        return `[${this.#list(expression.items)}]`;
      case 'Map': {
        const entries = expression.entries
          .slice(0, partCountMax)
          .map((entry) => `${entry.key}: ${this.print(entry.value)}`);
        return `{${entries.join(', ')}${cut(expression.entries.length)}}`;
      }
      case 'Element':
        return `${this.#tight(expression.of)}[${this.#list(expression.keys)}]`;
      case 'Slice': {
        const dots = expression.inclusive ? '...' : '..';
        const low = expression.low ? this.print(expression.low) : '';
        const high = expression.high ? this.print(expression.high) : '';
        return `${this.#tight(expression.of)}[${low}${dots}${high}]`;
      }
      case 'NestedProjection':
        return `${this.#tight(expression.of)}:{…}`;
      case 'SingleValue':
        return `single(${this.print(expression.rows)})`;
      case 'UnwrapRows':
        return `unwrap(${this.print(expression.rows)})`;
      case 'SubPlan':
        return `${expression.mode}{sub-plan}`;
      default:
        return unreachable(expression);
    }
  }

  /** A left-deep chain is printed in a loop: its depth is bounded by the size of the text only. */
  #arithmetic(expression: Expression & { readonly op: 'Arithmetic' }): string {
    const parts: string[] = [];
    let current: Expression = expression;
    let partCount = 0;
    while (current.op === 'Arithmetic') {
      if (partCount < partCountMax) parts.push(`${current.operator} ${this.#tight(current.right)}`);
      partCount += 1;
      current = current.left;
    }
    return [
      this.#tight(current),
      ...(partCount > partCountMax ? ['…'] : []),
      ...parts.reverse(),
    ].join(' ');
  }

  #chain(operands: readonly Expression[], operator: string): string {
    const parts = operands.slice(0, partCountMax).map((operand) => this.#tight(operand));
    return parts.join(` ${operator} `) + cut(operands.length);
  }

  #list(items: readonly Expression[]): string {
    const parts = items.slice(0, partCountMax).map((item) => this.print(item));
    return parts.join(', ') + cut(items.length);
  }

  /**
   * A function of the schema is called by way of another one, whose first argument is its name; one that only a dialect has shows the
   * name that it has there.
   */
  #call({ function: name, arguments: args }: Extract<Expression, { op: 'Call' }>): string {
    const [first, ...rest] = args;
    if (name.startsWith(ofDialect)) return `${name.slice(ofDialect.length)}(${this.#list(args)})`;
    // What rules put in the place of a scan reads like a function.
    if (/^#(?:search|geo)_/u.test(name))
      return `index search ${name.slice(1)}(${this.#list(args)})`;
    if (name.startsWith('#') && first?.op === 'Constant' && typeof first.value === 'string')
      return `${first.value}(${this.#list(rest)})`;
    return `${name}(${this.#list(args)})`;
  }

  /** In parentheses when it would not read as one operand otherwise. */
  #tight(expression: Expression): string {
    const text = this.print(expression);
    return loose.has(expression.op) ? `(${text})` : text;
  }
}

const ofDialect = '#cypher.';

type PlainOp =
  | 'Constant'
  | 'Parameter'
  | 'Slot'
  | 'Variable'
  | 'Property'
  | 'Attribute'
  | 'IsDefined'
  | 'Call'
  | 'Negate'
  | 'Arithmetic'
  | 'Concatenate'
  | 'Coalesce'
  | 'And'
  | 'Or'
  | 'Xor'
  | 'Truth'
  | 'TextPart'
  | 'Compare'
  | 'StrictEquals'
  | 'Not'
  | 'IsNull'
  | 'In'
  | 'Between'
  | 'Like'
  | 'Matches'
  | 'Contains'
  | 'IsOfType';

const textParts = { start: 'STARTS WITH', end: 'ENDS WITH', any: 'CONTAINS' } as const;

const loose: ReadonlySet<Expression['op']> = new Set<Expression['op']>([
  'Arithmetic',
  'Concatenate',
  'Coalesce',
  'And',
  'Or',
  'Xor',
  'Truth',
  'TextPart',
  'Compare',
  'StrictEquals',
  'Not',
  'IsNull',
  'In',
  'Between',
  'Like',
  'Matches',
  'Contains',
  'IsOfType',
  'IsDefined',
]);

function cut(partCount: number): string {
  return partCount > partCountMax ? ', …' : '';
}

function printConstant(value: Value): string {
  switch (kindOf(value)) {
    case 'string':
      return quoted(value as string);
    case 'null':
    case 'boolean':
    case 'integer':
      return String(value);
    case 'double':
      return typeof value === 'number'
        ? String(value)
        : `${(value as { number: number }).number}.0`;
    case 'link':
    case 'record':
      return formatRid((value as { rid: Parameters<typeof formatRid>[0] }).rid);
    case 'list': {
      const items = value as readonly Value[];
      return `[${items.slice(0, partCountMax).map(printConstant).join(', ')}${cut(items.length)}]`;
    }
    default:
      return `<${kindOf(value)}>`;
  }
}

function quoted(text: string): string {
  return text.length > textLengthMax ? `'${text.slice(0, textLengthMax)}…'` : `'${text}'`;
}
