import { Float, type Value } from '#core/value/value.ts';
import type { ArithmeticOperator, CompareOperator, Expression } from '#query/algebra/expression.ts';

/**
 * Expressions of openCypher as far as tests of values need them: literals, lists, maps, variables, properties, calls, `+ - * /` and
 * comparisons. Calls name the functions of dialect cypher.
 */
export function parseExpression(text: string, names: ReadonlyMap<string, Value>): Expression {
  const parser = new Parser(text, names);
  const expression = parser.comparison();
  parser.end();
  return expression;
}

const dialect = 'cypher';
const token =
  /\s*(?:(\d+\.\d+|\d+)|'((?:[^'\\]|\\.)*)'|([A-Za-z_][\w.]*)|(<=|>=|<>|[-+*/(){}[\],:<>=]))/y;

class Parser {
  readonly #names: ReadonlyMap<string, Value>;
  readonly #tokens: {
    readonly kind: 'number' | 'text' | 'name' | 'sign';
    readonly text: string;
  }[] = [];
  #at = 0;

  constructor(text: string, names: ReadonlyMap<string, Value>) {
    this.#names = names;
    token.lastIndex = 0;
    const whole = text.trimEnd();
    while (token.lastIndex < whole.length) {
      const at = token.lastIndex;
      const match = token.exec(whole);
      if (match === null) throw new Error(`unreadable at ${at}: ${whole}`);
      const [, number, string, name, sign] = match;
      if (number !== undefined) this.#tokens.push({ kind: 'number', text: number });
      else if (string !== undefined) this.#tokens.push({ kind: 'text', text: string });
      else if (name !== undefined) this.#tokens.push({ kind: 'name', text: name });
      else this.#tokens.push({ kind: 'sign', text: sign ?? '' });
    }
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw new Error(`left over: ${this.#peek()}`);
  }

  #peek(): string | undefined {
    const next = this.#tokens[this.#at];
    return next?.kind === 'sign' ? next.text : undefined;
  }

  #take(sign: string): boolean {
    if (this.#peek() !== sign) return false;
    this.#at += 1;
    return true;
  }

  #require(sign: string): void {
    if (!this.#take(sign)) throw new Error(`expected ${sign}`);
  }

  comparison(): Expression {
    const left = this.#sum();
    const operator = this.#peek();
    if (operator === undefined || !/^(<|<=|>|>=|=|<>)$/.test(operator)) return left;
    this.#at += 1;
    const right = this.#sum();
    return { op: 'Compare', operator: operator as CompareOperator, left, right, dialect };
  }

  #sum(): Expression {
    let left = this.#product();
    for (;;) {
      const operator = this.#peek();
      if (operator !== '+' && operator !== '-') return left;
      this.#at += 1;
      left = arithmetic(operator, left, this.#product());
    }
  }

  #product(): Expression {
    let left = this.#unary();
    for (;;) {
      const operator = this.#peek();
      if (operator !== '*' && operator !== '/') return left;
      this.#at += 1;
      left = arithmetic(operator, left, this.#unary());
    }
  }

  #unary(): Expression {
    return this.#take('-') ? { op: 'Negate', operand: this.#unary(), dialect } : this.#atom();
  }

  #atom(): Expression {
    if (this.#take('(')) {
      const inner = this.comparison();
      this.#require(')');
      return inner;
    }
    if (this.#take('[')) return { op: 'List', items: this.#items(']') };
    if (this.#take('{')) return this.#map();
    const next = this.#tokens[this.#at];
    if (next === undefined) throw new Error('unexpected end');
    this.#at += 1;
    if (next.kind === 'text') return constant(next.text);
    if (next.kind === 'number') {
      const n = Number(next.text);
      return constant(next.text.includes('.') && Number.isInteger(n) ? new Float(n) : n);
    }
    return this.#named(next.text);
  }

  #named(text: string): Expression {
    if (this.#take('('))
      return { op: 'Call', function: `#cypher.${text}`, arguments: this.#items(')') };
    if (text === 'null') return constant(null);
    if (text === 'true' || text === 'false') return constant(text === 'true');
    const [variable = '', ...properties] = text.split('.');
    if (!this.#names.has(variable)) throw new Error(`unknown variable ${variable}`);
    let value = constant(this.#names.get(variable) ?? null);
    for (const name of properties) value = { op: 'Property', of: value, name, dialect };
    return value;
  }

  #items(end: string): Expression[] {
    const items: Expression[] = [];
    if (this.#take(end)) return items;
    do items.push(this.comparison());
    while (this.#take(','));
    this.#require(end);
    return items;
  }

  #map(): Expression {
    const entries: { key: string; value: Expression }[] = [];
    if (this.#take('}')) return { op: 'Map', entries };
    do {
      const name = this.#tokens[this.#at];
      this.#at += 1;
      this.#require(':');
      entries.push({ key: name?.text ?? '', value: this.comparison() });
    } while (this.#take(','));
    this.#require('}');
    return { op: 'Map', entries };
  }
}

function constant(value: Value): Expression {
  return { op: 'Constant', value };
}

function arithmetic(operator: ArithmeticOperator, left: Expression, right: Expression): Expression {
  return { op: 'Arithmetic', operator, left, right, dialect };
}
