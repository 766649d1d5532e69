import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDecimal } from '#core/value/decimal.ts';
import type { Wait } from '#core/pausing-work.ts';
import { double, isMap, type Value } from '#core/value/value.ts';
import type { ScalarFunction } from '#query/evaluate/function-definition.ts';
import { LongCalls } from '#query/evaluate/turns/long-calls.ts';
import { cypherPrefix } from '#query/functions/cypher/arguments.ts';
import { documentedFunctions, functionRegistry } from '#query/functions/registry.ts';
import { seededRandom } from '#test/fuzz/random-bytes.ts';
import { sampleContext } from './sample-context.ts';

// Goal: every function that has a way in turns gives by it what it gives at once, value or error. Method: random arguments just above the
// sizes from which turns are taken, of few different signs, so that what matters comes to stand where pieces end.
// IN_TURNS_SEED and IN_TURNS_ROUNDS look further.

const firstSeed = Number(process.env['IN_TURNS_SEED'] ?? 1);
const roundCount = Number(process.env['IN_TURNS_ROUNDS'] ?? 1);

const alphabets = [
  [...'ab'],
  [...'aAbB cC\n-_1'],
  ['a', 'Σ', 'Σ', "'", '.', ' ', 'ς', '\u0301', 'İ', 'ß', 'ﬁ', '😀'],
  ['😀', '𐐀', '𐐨', 'x', ' '],
  ['"', '\\', '\n', '\u0001', '\u2028', 'é', '😀'],
  ['가', '\u1100', '\u1161', '\u11a8', ' ', 'e', '\u0327', '\u0301'],
];
const smallTexts = ['', 'a', 'b', 'ab', 'aba', ' ', 'Σ', '😀', '"', ',', '-', '.', 'b b', '\u0301'];
const words = [
  'NFC',
  'NFKD',
  'base64',
  'base64url',
  'deflate',
  'MD5',
  'PRETTY',
  'length',
  'asString',
];

class Arguments {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  text(length = 65_536 + this.below(100_000)): string {
    const signs = this.of(alphabets);
    const block = Array.from({ length: 1 + this.below(997) }, () => this.of(signs)).join('');
    const shift = Array.from({ length: this.below(9) }, () => this.of(signs)).join('');
    return shift + block.repeat(Math.ceil(length / block.length));
  }

  scalar(): Value {
    const kinds: readonly (() => Value)[] = [
      () => null,
      () => this.below(50),
      () => double(this.below(9) / 4),
      () => this.below(9) / 4,
      () => this.of([Number.NaN, -0, 0, Number.POSITIVE_INFINITY, -1]),
      () => BigInt(this.below(9)) * 2n ** 60n,
      () => parseDecimal(`${this.below(9)}.${this.below(99)}`) ?? null,
      () => this.of(smallTexts),
      () => this.of([true, false]),
      () => [this.below(3)],
      () => new Map<string, Value>([['k', this.below(3)]]),
    ];
    return this.of(kinds)();
  }

  list(length = 4_096 + this.below(5_000)): readonly Value[] {
    const element = this.of<() => Value>([
      () => this.scalar(),
      () => this.below(100_000),
      () => this.below(1_000) / 8,
      () => this.of<Value>([this.below(9), null]),
      () => `t${this.below(5_000)}`,
      () => this.of<Value>([`t${this.below(99)}`, null]),
      () => [this.below(9), this.of(smallTexts)],
      () => new Map<string, Value>([[this.of(smallTexts), this.below(9)]]),
    ]);
    return Array.from({ length }, element);
  }

  json(): string {
    const value = {
      a: this.text(20_000 + this.below(40_000)),
      b: Array.from({ length: this.below(3_000) }, () => this.below(9)),
      [this.text(100)]: this.text(),
    };
    const text = JSON.stringify(value);
    const damaged = this.below(text.length);
    return this.below(3) > 0
      ? text
      : text.slice(0, damaged) + this.of(['"', '\\', '\u0001', '', '}']);
  }

  polygon(): string {
    const corners = 60 + this.below(80);
    const radius = 1 + this.below(4);
    const at = (i: number): string => {
      const angle = (2 * Math.PI * (i % corners)) / corners;
      return `${radius * Math.cos(angle)} ${radius * Math.sin(angle)}`;
    };
    return `POLYGON ((${Array.from({ length: corners + 1 }, (_, i) => at(i)).join(', ')}))`;
  }

  large(): Value {
    return this.of<() => Value>([
      () => this.text(),
      () => this.text(),
      () => this.list(),
      () => this.list(),
      () => this.json(),
      () => [this.text(), this.list(), this.scalar()],
      () =>
        new Map<string, Value>([
          ['x', this.list()],
          [this.text(50), this.text()],
        ]),
      () => new Map(this.list().map((value, i) => [`k${i % 4_500}`, value])),
      () => Uint8Array.from({ length: 262_144 + this.below(99) }, () => this.below(256)),
      () => Buffer.from(this.text()).toString(this.of(['base64', 'base64url'])),
      () => Buffer.from(this.text()).toString('base64'),
      () => this.polygon(),
    ])();
  }

  small(): Value {
    return this.of<() => Value>([
      () => this.of(smallTexts),
      () => this.of(words),
      () => this.scalar(),
      () => this.list(5),
      () => this.of<Value>([0, 1, 0.5, true, false]),
    ])();
  }

  for({ arity }: ScalarFunction): readonly Value[] {
    const count = Math.min(arity.max, arity.min + this.below(2));
    return Array.from({ length: count }, (_, i) => {
      if (i === 0) return this.large();
      return this.below(3) === 0 ? this.large() : this.small();
    });
  }
}

function outcomeOf(compute: () => Value): string {
  try {
    return printed(compute());
  } catch (error) {
    // Of a value that is too large, each way knows another part when it refuses it.
    return `error: ${String(error).replace(/value of \d+ bytes/, 'value of many bytes')}`;
  }
}

function inTurns(definition: ScalarFunction, args: readonly Value[]): Value {
  const context = Object.assign(sampleContext(), {
    pending: { wait: undefined as Wait | undefined },
  });
  const calls = new LongCalls();
  let value: Value = null;
  const job = (): void => {
    value = definition.evaluate(args, context);
  };
  while (!calls.attempt(context, job)) context.pending.wait?.standStill(1);
  return value;
}

/** Kinds of numbers and orders of keys count. */
function printed(value: Value): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (isMap(item as Value)) return { map: [...(item as ReadonlyMap<string, Value>)] };
    if (typeof item === 'number') return Object.is(item, -0) ? '-0' : String(item);
    return typeof item === 'bigint' ? `${item}n` : item;
  });
}

const ofCypher = documentedFunctions('cypher')
  .filter(({ kind, isDeterministic }) => kind === 'function' && isDeterministic)
  .map(({ name }) => functionRegistry.scalar(`${cypherPrefix}${name}`));
const definitions = documentedFunctions()
  .filter(({ kind, isDeterministic }) => kind !== 'aggregate' && isDeterministic)
  .map(({ name, kind }) => functionRegistry.scalar(kind === 'method' ? `.${name}` : name))
  .concat(ofCypher)
  .filter((definition) => definition?.worksInTurns === true && definition.mayTakeLong !== true)
  .filter((definition) => definition !== undefined);

test('a function gives in turns what it gives at once, for any arguments', () => {
  assert.ok(definitions.length > 50);
  for (let seed = firstSeed; seed < firstSeed + roundCount; seed += 1)
    for (const [number, definition] of definitions.entries()) {
      const args = new Arguments(seed * 1_000 + number).for(definition);
      const atOnce = outcomeOf(() => definition.evaluate(args, sampleContext()));
      const turns = outcomeOf(() => inTurns(definition, args));
      if (turns === atOnce) continue;
      const at = [...turns].findIndex((sign, i) => sign !== atOnce[i]);
      const shown = args.map((argument) => printed(argument).slice(0, 60)).join(', ');
      assert.fail(
        `seed ${seed}: ${definition.name}(${shown}) differs at ${at}: '${turns.slice(at - 20, at + 60)}' in turns, '${atOnce.slice(at - 20, at + 60)}' at once`,
      );
    }
});
