import { parseJson } from '#core/value/json-value.ts';
import { parseDecimal } from '#core/value/decimal.ts';
import { parseNumber } from '#core/value/number-text.ts';
import { Link } from '#core/value/record.ts';
import { parseRid } from '#core/value/rid.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '#query/evaluate/context.ts';
import { currentRecordFunctions } from '#query/functions/graph/graph.ts';
import { functionRegistry } from '#query/functions/registry.ts';

/**
 * A small reader of calls for golden files, so that the tables of sql-functions.md can be written down as they are:
 * literals, lists, maps, `f(x)`, `ns.f(x)`, `value.m(x)`, `1.5m` for decimals, `#1:0` for record ids, `@#1:0` for the
 * record itself, `@this` for the current record. It stands in for the SQL front end, which lives on a higher floor.
 */
export function evaluateText(text: string, context: EvaluationContext, current: Value): Value {
  const reader = new CallReader(text, context, current);
  const value = reader.value();
  reader.end();
  return value;
}

export class CallReader {
  readonly #text: string;
  readonly #context: EvaluationContext;
  readonly #current: Value;
  #at = 0;

  constructor(text: string, context: EvaluationContext, current: Value) {
    this.#text = text;
    this.#context = context;
    this.#current = current;
  }

  end(): void {
    this.#space();
    if (this.#at < this.#text.length) throw new Error(`unread: ${this.#text.slice(this.#at)}`);
  }

  value(): Value {
    let value = this.#primary();
    for (;;) {
      const found = this.#match(/\.([A-Za-z]\w*)\s*\(/y);
      if (!found) return value;
      value = this.#call(`.${found[1]}`, [value, ...this.#list(')')]);
    }
  }

  #primary(): Value {
    this.#space();
    const start = this.#text.charAt(this.#at);
    if (start === "'") return this.#quoted();
    if (this.#take('(')) return this.#closed(this.value(), ')');
    if (this.#take('[')) return this.#list(']');
    if (this.#take('{')) return this.#map();
    const number = this.#match(/-?\d+(\.\d+)?([eE][+-]?\d+)?(m)?/y);
    if (number) return numberOf(number);
    const rid = this.#match(/(@?)#(\d+:\d+)/y);
    if (rid) return this.#ridOrRecord(rid);
    const word = this.#match(/@this|(?:null|true|false|NaN)\b|[A-Za-z_][\w.]*/y);
    if (!word) throw new Error(`unexpected: ${this.#text.slice(this.#at)}`);
    return this.#word(word[0] as string);
  }

  #word(word: string): Value {
    if (word === 'null') return null;
    if (word === 'true' || word === 'false') return word === 'true';
    if (word === 'NaN') return Number.NaN;
    if (word === '@this') return this.#current;
    if (!this.#take('(')) throw new Error(`unknown word ${word}`);
    const args = this.#take('*') ? [...this.#list(')', this.#current)] : this.#list(')');
    return this.#call(
      word,
      currentRecordFunctions.has(word.toLowerCase()) ? [this.#current, ...args] : args,
    );
  }

  /** What the expression compiler does: look up, check the arity, call. */
  #call(name: string, args: readonly Value[]): Value {
    const definition = functionRegistry.scalar(name);
    if (definition === undefined) {
      const what = name.startsWith('.')
        ? `Unknown method name: ${name.slice(1)}`
        : `Unknown function name '${name}'`;
      const closest = functionRegistry.suggest(name);
      throw new DatabaseError('CommandExecution', closest ? `${what} (${closest}?)` : what);
    }
    if (args.length < definition.arity.min || args.length > definition.arity.max)
      throw new DatabaseError('IllegalArgument', `${definition.syntax}: ${args.length} arguments`);
    return definition.evaluate(args, this.#context);
  }

  #ridOrRecord([, at, text]: RegExpExecArray): Value {
    const rid = parseRid(text as string);
    if (rid === undefined) throw new Error(`no record id: ${text}`);
    return at === '@' ? (this.#context.view.record(rid) ?? null) : new Link(rid);
  }

  #quoted(): string {
    const found = this.#match(/'((?:[^'\\]|\\.)*)'/y);
    if (!found) throw new Error('open string');
    const text = (found[1] as string).replaceAll("\\'", "'").replaceAll('"', '\\"');
    return parseJson(`"${text}"`) as string;
  }

  #list(close: string, ...values: Value[]): readonly Value[] {
    if (values.length === 0 && this.#take(close)) return values;
    if (values.length > 0 && !this.#take(',')) return this.#closed(values, close);
    do values.push(this.value());
    while (this.#take(','));
    return this.#closed(values, close);
  }

  #map(): Value {
    const entries = new Map<string, Value>();
    if (this.#take('}')) return entries;
    do {
      this.#space();
      const key = this.#match(/[\w@]+/y)?.[0] ?? this.#quoted();
      this.#expect(':');
      entries.set(key, this.value());
    } while (this.#take(','));
    return this.#closed(entries, '}');
  }

  #closed<T>(value: T, close: string): T {
    this.#expect(close);
    return value;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new Error(`expected ${text}: ${this.#text.slice(this.#at)}`);
  }

  #take(text: string): boolean {
    this.#space();
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #match(shape: RegExp): RegExpExecArray | undefined {
    shape.lastIndex = this.#at;
    const found = shape.exec(this.#text);
    if (found) this.#at = shape.lastIndex;
    return found ?? undefined;
  }

  #space(): void {
    while (this.#text.charAt(this.#at) === ' ') this.#at++;
  }
}

function numberOf([whole, , , decimal]: RegExpExecArray): Value {
  const value = decimal
    ? parseDecimal((whole as string).slice(0, -1))
    : parseNumber(whole as string);
  if (value === undefined) throw new Error(`no number: ${whole}`);
  return value;
}
