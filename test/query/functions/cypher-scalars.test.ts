// Goal: functions of cypher.md 9.1 to 9.4 and 9.7: results, null, and failures by their names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { double, int64Min, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '#query/evaluate/context.ts';
import { functionRegistry } from '#query/functions/registry.ts';

const context = {
  limits: { elementCountMax: 1000, rangeSizeMax: 1000, valueBytesMax: 10_000 },
} as unknown as EvaluationContext;

function call(name: string, ...args: readonly Value[]): Value {
  const definition = functionRegistry.scalar(`#cypher.${name}`);
  assert.ok(definition, name);
  return definition.evaluate(args, context);
}

const list = (value: Value): Value => value;

test('functions give what the reference says', () => {
  for (const [name, args, expected] of [
    ['toUpper', ['aß'], 'ASS'],
    ['substring', ['a😀bc', 1, 2], '😀b'],
    ['substring', ['abc', 9], ''],
    ['left', ['a😀b', 2], 'a😀'],
    ['right', ['a😀b', 2], '😀b'],
    ['right', ['ab', 5], 'ab'],
    ['replace', ['aXbX', 'X', '$&'], 'a$&b$&'],
    ['split', ['a,b;c', [',', ';']], ['a', 'b', 'c']],
    ['split', ['ab', ''], ['a', 'b']],
    ['btrim', ['xxaxx', 'x'], 'a'],
    ['lTrim', [' a '], 'a '],
    ['char_length', ['😀'], 1],
    ['toString', [double(4)], '4.0'],
    ['toString', [true], 'true'],
    ['toStringList', [[1, [2], null]], ['1', null, null]],
    ['toInteger', ['4.9'], 4],
    ['toInteger', [-4.9], -4],
    ['toInteger', [' 12 '], 12],
    ['toInteger', ['9223372036854775808'], null],
    ['toInteger', ['abc'], null],
    ['toInteger', [true], 1],
    ['toFloat', ['1e3'], double(1000)],
    ['toBoolean', [' TRUE '], true],
    ['toBoolean', [0], false],
    ['toBooleanOrNull', [1.5], null],
    ['toIntegerList', [['1', 'x', null]], [1, null, null]],
    ['abs', [-5], 5],
    ['sign', [-0.5], -1],
    ['round', [2.5], double(3)],
    ['round', [-2.5], double(-2)],
    ['round', [1.249, 1, 'UP'], 1.3],
    ['ceil', [1.2], double(2)],
    ['sqrt', [-1], Number.NaN],
    ['nullIf', [1, double(1)], null],
    ['nullIf', [1, 2], 1],
    ['isEmpty', [''], true],
    ['valueType', [[1, null]], 'LIST<INTEGER> NOT NULL'],
    ['valueType', [null], 'NULL'],
    [
      'vector.distance',
      [
        [0, 3],
        [4, 0],
      ],
      double(5),
    ],
    ['vector.similarity.euclidean', [[0], [1]], 0.5],
  ] as const)
    assert.deepEqual(call(name, ...args.map(list)), expected, `${name}(${JSON.stringify(args)})`);
});

test('null gives null, a wrong type is an error by its name', () => {
  for (const name of ['toUpper', 'toInteger', 'abs', 'isEmpty', 'substring', 'split'])
    assert.equal(call(name, null, 1), null, name);
  for (const [name, args, detail] of [
    ['toUpper', [1], 'InvalidArgumentType'],
    ['toString', [[1]], 'InvalidArgumentValue'],
    ['toInteger', [[]], 'InvalidArgumentValue'],
    ['toBoolean', [1.5], 'InvalidArgumentValue'],
    ['substring', ['a', -1], 'NumberOutOfRange'],
    ['sqrt', ['4'], 'InvalidArgumentType'],
    ['vector.distance', [[1], [1, 2]], 'InvalidArgumentValue'],
  ] as const)
    assert.throws(
      () => call(name, ...args.map(list)),
      (error: unknown) => error instanceof DatabaseError && error.failure?.detail === detail,
      name,
    );
  assert.throws(() => call('abs', int64Min), /overflow/);
  assert.throws(() => call('replace', 'a'.repeat(200), 'a', 'b'.repeat(200)), /queryMaxValueSize/);
});
