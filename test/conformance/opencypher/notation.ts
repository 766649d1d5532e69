import { double, integer, type Value } from '#core/value/value.ts';

/**
 * The suite's notation of values. What is expected and what was given are both brought to one canonical text, in which equal values
 * are equal texts: keys and labels sorted, floats told from integers.
 */

/** What a cell of a table says. */
export type Expected =
  | { readonly kind: 'scalar'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly Expected[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [string, Expected])[] }
  | {
      readonly kind: 'node' | 'relationship';
      readonly labels: readonly string[];
      readonly properties: readonly (readonly [string, Expected])[];
    }
  | { readonly kind: 'path'; readonly text: string };

export interface PrintOptions {
  readonly ignoresListOrder: boolean;
}

export function printExpected(value: Expected, options: PrintOptions): string {
  switch (value.kind) {
    case 'scalar':
    case 'path':
      return value.text;
    case 'list':
      return listText(
        value.items.map((item) => printExpected(item, options)),
        options,
      );
    case 'map':
      return mapText(value.entries.map(([key, item]) => [key, printExpected(item, options)]));
    default: {
      const properties = value.properties.map(
        ([key, item]) => [key, printExpected(item, options)] as const,
      );
      return value.kind === 'node'
        ? nodeText(value.labels, properties)
        : relationshipText(value.labels[0] ?? '', properties);
    }
  }
}

export function listText(items: readonly string[], options: PrintOptions): string {
  return `[${(options.ignoresListOrder ? [...items].sort() : items).join(', ')}]`;
}

export function mapText(entries: readonly (readonly [string, string])[]): string {
  const sorted = entries.map(([key, text]) => `${key}: ${text}`).sort();
  return `{${sorted.join(', ')}}`;
}

export function nodeText(
  labels: readonly string[],
  properties: readonly (readonly [string, string])[],
): string {
  return `(${[...labels]
    .sort()
    .map((label) => `:${label}`)
    .join('')}${suffix(properties)})`;
}

export function relationshipText(
  type: string,
  properties: readonly (readonly [string, string])[],
): string {
  return `[:${type}${suffix(properties)}]`;
}

function suffix(properties: readonly (readonly [string, string])[]): string {
  return properties.length === 0 ? '' : ` ${mapText(properties)}`;
}

export function floatText(number: number): string {
  if (Number.isNaN(number)) return 'NaN';
  if (!Number.isFinite(number)) return number > 0 ? 'Inf' : '-Inf';
  return Object.is(number, -0) ? '-0.0' : `${number}f`;
}

export function stringText(text: string): string {
  return `'${text}'`;
}

/** @throws Error for what is no value of the notation */
export function parseExpected(text: string): Expected {
  const reader = new Reader(text);
  const value = reader.value();
  reader.end();
  return value;
}

const escapes = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
]);

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  end(): void {
    this.#blanks();
    if (this.#at < this.#text.length) throw new Error(`not a value: ${this.#text}`);
  }

  value(): Expected {
    this.#blanks();
    switch (this.#text[this.#at]) {
      case "'":
        return { kind: 'scalar', text: stringText(this.#string()) };
      case '{':
        return { kind: 'map', entries: this.#entries() };
      case '(':
        return this.#node();
      case '<':
        return this.#path();
      case '[':
        return this.#listOrRelationship();
      default:
        return { kind: 'scalar', text: this.#word() };
    }
  }

  #blanks(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #take(sign: string): boolean {
    this.#blanks();
    if (!this.#text.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw new Error(`expected ${sign} at ${this.#at} in ${this.#text}`);
  }

  #match(shape: RegExp): string {
    this.#blanks();
    shape.lastIndex = this.#at;
    const found = shape.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  #string(): string {
    this.#expect("'");
    let value = '';
    while (this.#at < this.#text.length && this.#text[this.#at] !== "'") {
      const isEscaped = this.#text[this.#at] === '\\';
      if (isEscaped) this.#at += 1;
      const character = this.#text[this.#at] as string;
      value += isEscaped ? (escapes.get(character) ?? character) : character;
      this.#at += 1;
    }
    this.#expect("'");
    return value;
  }

  #word(): string {
    const word = this.#match(/[^\s,\]})>]+/y);
    if (/^(?:true|false|null|NaN|Inf|-Inf)$/.test(word)) return word;
    if (/^-?\d+$/.test(word)) return word === '-0' ? '0' : word;
    if (/^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(word)) return floatText(Number(word));
    throw new Error(`not a value: '${word}' in ${this.#text}`);
  }

  #entries(): [string, Expected][] {
    const entries: [string, Expected][] = [];
    this.#expect('{');
    while (!this.#take('}')) {
      if (entries.length > 0) this.#expect(',');
      const key = this.#take('`') ? this.#quoted() : this.#match(/[^\s:]+/y);
      this.#expect(':');
      entries.push([key, this.value()]);
    }
    return entries;
  }

  #quoted(): string {
    const name = this.#match(/[^`]*/y);
    this.#expect('`');
    return name;
  }

  #labels(): string[] {
    const labels: string[] = [];
    while (this.#take(':'))
      labels.push(this.#take('`') ? this.#quoted() : this.#match(/[^\s:({)\]]+/y));
    return labels;
  }

  #properties(): [string, Expected][] {
    this.#blanks();
    return this.#text[this.#at] === '{' ? this.#entries() : [];
  }

  #node(): Extract<Expected, { kind: 'node' | 'relationship' }> {
    this.#expect('(');
    const labels = this.#labels();
    const properties = this.#properties();
    this.#expect(')');
    return { kind: 'node', labels, properties };
  }

  #relationship(): Expected {
    const labels = this.#labels();
    const properties = this.#properties();
    this.#expect(']');
    return { kind: 'relationship', labels, properties };
  }

  #listOrRelationship(): Expected {
    this.#expect('[');
    this.#blanks();
    if (this.#text[this.#at] === ':') return this.#relationship();
    const items: Expected[] = [];
    while (!this.#take(']')) {
      if (items.length > 0) this.#expect(',');
      items.push(this.value());
    }
    return { kind: 'list', items };
  }

  #path(): Expected {
    const exact = { ignoresListOrder: false };
    this.#expect('<');
    let text = printExpected(this.#node(), exact);
    while (!this.#take('>')) {
      const pointsLeft = this.#take('<');
      this.#expect('-');
      this.#expect('[');
      const relationship = printExpected(this.#relationship(), exact);
      this.#expect('-');
      const pointsRight = this.#take('>');
      if (pointsLeft === pointsRight) throw new Error(`no direction in ${this.#text}`);
      const node = printExpected(this.#node(), exact);
      text += `${pointsLeft ? '<-' : '-'}${relationship}${pointsLeft ? '-' : '->'}${node}`;
    }
    return { kind: 'path', text: `<${text}>` };
  }
}

/** A value of a table of parameters or of procedures, in which there are no nodes. */
export function parseValue(text: string): Value {
  return asValue(parseExpected(text));
}

function asValue(expected: Expected): Value {
  switch (expected.kind) {
    case 'list':
      return expected.items.map(asValue);
    case 'map':
      return new Map(expected.entries.map(([key, value]) => [key, asValue(value)]));
    case 'scalar':
      return scalarOf(expected.text);
    default:
      throw new Error(`no value: a ${expected.kind}`);
  }
}

function scalarOf(text: string): Value {
  if (text.startsWith("'")) return text.slice(1, -1);
  switch (text) {
    case 'true':
    case 'false':
      return text === 'true';
    case 'null':
      return null;
    case 'NaN':
      return Number.NaN;
    case 'Inf':
      return Number.POSITIVE_INFINITY;
    case '-Inf':
      return Number.NEGATIVE_INFINITY;
    default:
      if (text.endsWith('f')) return double(Number(text.slice(0, -1)));
      return text === '-0.0' ? double(-0) : integer(BigInt(text));
  }
}
