/*
 * As much of Prometheus' language as the alert rules use: selectors, numbers, `time()`, `scalar()`, aggregates without labels,
 * arithmetic and comparison. Vectors match on all their labels but the name.
 */

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type Value = number | readonly Omit<Series, 'name'>[];

const aggregates: Readonly<Record<string, (values: readonly number[]) => number>> = {
  max: (values) => Math.max(...values),
  min: (values) => Math.min(...values),
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  count: (values) => values.length,
};

const levels: readonly (readonly string[])[] = [
  ['==', '!=', '<', '>'],
  ['+', '-'],
  ['*', '/'],
];

const token =
  /\s*(?:([a-z_][a-z0-9_]*)|(\d+(?:\.\d+)?)|(==|!=|[-+*/<>(){},])|(=~|=)|"((?:[^"\\]|\\.)*)")/giy;

class Evaluation {
  readonly #words: string[] = [];
  #at = 0;
  readonly #series: readonly Series[];
  readonly #nowSeconds: number;

  constructor(text: string, series: readonly Series[], nowSeconds: number) {
    this.#series = series;
    this.#nowSeconds = nowSeconds;
    token.lastIndex = 0;
    while (token.lastIndex < text.trimEnd().length) {
      const found = token.exec(text);
      if (found === null) throw new Error(`not understood: ${text}`);
      const [, word, number, sign, match, quoted] = found;
      this.#words.push(word ?? number ?? sign ?? match ?? JSON.stringify(quoted ?? ''));
    }
  }

  run(): Value {
    const value = this.#level(0);
    if (this.#at < this.#words.length) throw new Error(`left over: ${this.#words[this.#at]}`);
    return value;
  }

  #take(wanted?: string): string {
    const word = this.#words[this.#at++] ?? '';
    if (wanted !== undefined && word !== wanted) throw new Error(`${wanted} expected, not ${word}`);
    return word;
  }

  #level(depth: number): Value {
    const signs = levels[depth];
    if (signs === undefined) return this.#operand();
    let left = this.#level(depth + 1);
    while (signs.includes(this.#words[this.#at] ?? ''))
      left = combine(this.#take(), left, this.#level(depth + 1));
    return left;
  }

  #operand(): Value {
    const word = this.#take();
    if (word === '(') return this.#closed();
    if (/^\d/.test(word)) return Number(word);
    if (this.#words[this.#at] !== '(') return this.#select(word);
    this.#take('(');
    if (word === 'time') {
      this.#take(')');
      return this.#nowSeconds;
    }
    const inner = this.#closed();
    if (typeof inner === 'number') throw new Error(`${word} of a number`);
    const values = inner.map(({ value }) => value);
    if (word === 'scalar') return values.length === 1 ? (values[0] ?? Number.NaN) : Number.NaN;
    const aggregate = aggregates[word];
    if (aggregate === undefined) throw new Error(`unknown function ${word}`);
    return values.length === 0 ? [] : [{ labels: {}, value: aggregate(values) }];
  }

  #closed(): Value {
    const value = this.#level(0);
    this.#take(')');
    return value;
  }

  #select(name: string): Value {
    const tests: ((labels: Series['labels']) => boolean)[] = [];
    if (this.#words[this.#at] === '{') {
      do {
        this.#take();
        const label = this.#take();
        const isPattern = this.#take() === '=~';
        const text = JSON.parse(this.#take()) as string;
        const pattern = new RegExp(`^(?:${text})$`);
        tests.push((labels) =>
          isPattern ? pattern.test(labels[label] ?? '') : (labels[label] ?? '') === text,
        );
      } while (this.#words[this.#at] === ',');
      this.#take('}');
    }
    return this.#series.filter(
      (series) => series.name === name && tests.every((test) => test(series.labels)),
    );
  }
}

function combine(sign: string, left: Value, right: Value): Value {
  const apply = (a: number, b: number): number | undefined => {
    switch (sign) {
      case '+':
        return a + b;
      case '-':
        return a - b;
      case '*':
        return a * b;
      case '/':
        return a / b;
      case '<':
        return a < b ? a : undefined;
      case '>':
        return a > b ? a : undefined;
      case '!=':
        return a === b ? undefined : a;
      default:
        return a === b ? a : undefined;
    }
  };
  if (typeof left === 'number' && typeof right === 'number')
    return apply(left, right) ?? Number.NaN;
  const sides = Array.isArray(left) ? left : (right as readonly Omit<Series, 'name'>[]);
  const key = (labels: Series['labels']) => JSON.stringify(Object.entries(labels).sort());
  return sides.flatMap(({ labels }) => {
    const readSide = (side: Value) =>
      typeof side === 'number'
        ? side
        : side.find((each) => key(each.labels) === key(labels))?.value;
    const [a, b] = [readSide(left), readSide(right)];
    const value = a === undefined || b === undefined ? undefined : apply(a, b);
    return value === undefined ? [] : [{ labels, value }];
  });
}

/** Whether an alert with this expression would be pending. */
export function fires(expr: string, series: readonly Series[], nowSeconds: number): boolean {
  const value = new Evaluation(expr, series, nowSeconds).run();
  if (typeof value === 'number') throw new Error('an alert is a vector');
  return value.length > 0;
}
