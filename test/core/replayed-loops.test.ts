// Goal: recursion in stretches gives what it gives at once, whatever it holds, and stops in time. Method: random trees of short and long
// lists whose leaves are numbered as they are met; the work is done at once and in stretches, and leaves are counted between pauses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { doneInPlace, type PausingWork, toEnd } from '#core/pausing-work.ts';
import {
  filterLong,
  inStretches,
  madeOnce,
  mapLong,
  mapLongOver,
  PAUSED,
  smallSteps,
  someLong,
  stepped,
  Stretches,
} from '#core/replayed-loops.ts';
import { isTurnOver, LookShare, withinTurn } from '#core/turn-end.ts';

type Tree = number | readonly Tree[];

function numbered(tree: Tree, numbers: { count: number }, seen: { leaves: number }): unknown {
  if (typeof tree === 'number') {
    seen.leaves += 1;
    numbers.count += 1;
    return `${tree}:${numbers.count}`;
  }
  const size = madeOnce(() => {
    numbers.count += 1;
    return `${tree.length}/${numbers.count}`;
  });
  return [size, ...mapLong(tree, (part) => numbered(part, numbers, seen))];
}

const lengths = fc.array(fc.array(fc.integer({ min: 0, max: 1_500 }), { maxLength: 4 }), {
  maxLength: 90,
});

test('work in stretches gives what it gives at once', () => {
  fc.assert(
    fc.property(lengths, fc.boolean(), (rows, isLong) => {
      const tree: Tree = rows.map((row) =>
        row.map((length) => Array.from({ length: isLong ? length : length % 70 }, (_, at) => at)),
      );
      const atOnce = numbered(tree, { count: 0 }, { leaves: 0 });
      const numbers = { count: 0 };
      const inParts = toEnd(inStretches(() => numbered(tree, numbers, { leaves: 0 }), numbers));
      assert.deepEqual(inParts, atOnce);
    }),
    { numRuns: 40 },
  );
});

test('items that know those before them are made once, in long lists and short ones', () => {
  const sums = (lists: readonly (readonly number[])[]): unknown =>
    mapLong(lists, (list) => {
      const { made, state } = mapLongOver(
        list,
        () => ({ sum: 0 }),
        (item, before) => {
          // Something long inside of an item, which begins anew after a pause in it.
          const inside = filterLong(list, (other) => other % 7 === item % 7);
          const size = madeOnce(() => inside.length, inside.length);
          before.sum += item;
          return `${before.sum} ${size}`;
        },
      );
      return [made, state.sum];
    });
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.nat(100), { maxLength: 150, size: 'max' }), {
        maxLength: 80,
        size: 'max',
      }),
      (lists) => {
        assert.deepEqual(toEnd(inStretches(() => sums(lists))), sums(lists));
      },
    ),
    { numRuns: 10 },
  );
});

test('between two pauses a bounded number of items is made, and each once', () => {
  const numbers = { count: 0 };
  const seen = { leaves: 0 };
  const tree: Tree = Array.from({ length: 100 }, () => Array.from({ length: 500 }, (_, at) => at));
  const work = inStretches(() => numbered(tree, numbers, seen), numbers);
  let before = 0;
  let pauses = 0;
  while (work.next().done !== true) {
    assert.ok(seen.leaves - before <= 1_100, `${seen.leaves - before} in one stretch`);
    before = seen.leaves;
    pauses += 1;
  }
  assert.equal(seen.leaves, 50_000);
  assert.ok(pauses >= 45, `${pauses} pauses`);
});

test('the first pauses of each piece of work come sooner', () => {
  const stretches = new Stretches();
  for (let piece = 0; piece < 2; piece += 1) {
    let made = 0;
    const items = Array.from({ length: 3_000 });
    const lengths: number[] = [];
    const work = (): unknown =>
      mapLong(items, () => {
        made += 1;
      });
    for (let before = 0; stretches.attempt(work) === PAUSED; before = made)
      lengths.push(made - before);
    assert.deepEqual(lengths, [125, 250, 500, 1_000, 1_000]);
  }
});

test('a turn that is over ends a stretch, and each stretch makes something', () => {
  const items = Array.from({ length: 200 }, (_, at) => at);
  let made = 0;
  const work = inStretches(() =>
    mapLong(items, (item) => {
      made += 1;
      return item;
    }),
  );
  const lengths: number[] = [];
  let step = withinTurn({ isOver: () => true }, () => work.next());
  for (let before = 0; step.done !== true; before = lengths.reduce((sum, one) => sum + one, 0)) {
    lengths.push(made - before);
    step = withinTurn({ isOver: () => made > 100 }, () => work.next());
  }
  assert.deepEqual(lengths, [16, 96, 16, 16, 16, 16, 16]);
  assert.deepEqual(step.value, items);
});

test('looks are counted between pauses, and a turn that is over ends them sooner', () => {
  const looksBetween = (share: LookShare, isOver: () => boolean): number => {
    let looks = 1;
    while (!withinTurn({ isOver }, () => share.isSpent(1))) looks += 1;
    return looks;
  };
  const share = new LookShare({ first: 100, most: 300 });
  const lengths = [false, false, false, true, false].map((isOver) =>
    looksBetween(share, () => isOver),
  );
  assert.deepEqual(lengths, [100, 200, 300, 64, 300]);
  assert.equal(isTurnOver(), false);
});

test('what cannot pause counts its steps whatever the turn around it', () => {
  const clock = { monotonicMs: () => 0 };
  const seen = withinTurn({ isOver: () => true }, () => {
    const inside = doneInPlace(lookAtTurn(), clock, 'a test');
    return { inside, around: isTurnOver() };
  });
  assert.deepEqual(seen, { inside: false, around: true });
});

function* lookAtTurn(): PausingWork<boolean> {
  yield;
  return isTurnOver();
}

test('what is gone through again leaves room for something new', () => {
  const short = Array.from({ length: 60 }, (_, at) => at);
  const long = Array.from({ length: 3_000 }, (_, at) => at);
  // Two thousand items in short lists, twice as many as one stretch takes, before and between long ones.
  const many = () => Array.from({ length: 40 }, () => mapLong(short, (item) => item).length);
  const work = inStretches(() => [
    many(),
    mapLong(long, (at) => at),
    many(),
    mapLong(long, String),
  ]);
  let pauses = 0;
  while (work.next().done !== true) pauses += 1;
  assert.ok(pauses < 20, `${pauses} pauses`);
});

test('work in steps is kept while what is around it begins anew, and numbers what it numbers at once', () => {
  const numbers = { count: 0 };
  let beginnings = 0;
  const around = (): unknown[] => {
    const list = Array.from({ length: 900 }, (_, at) => at);
    const numbered = (): number => {
      numbers.count += 1;
      return numbers.count;
    };
    const steps = function* (): PausingWork<number[]> {
      beginnings += 1;
      const made: number[] = [];
      for (let step = 0; step < 5; step += 1) {
        // Without pauses in it, and with pauses of its own.
        made.push(...mapLong(list, numbered));
        made.push(...(yield* inStretches(() => mapLong(list, (at) => at * step))));
        yield;
      }
      return made;
    };
    return [mapLong(list, numbered), stepped(steps), mapLong(list, numbered), stepped(steps)];
  };
  const atOnce = around();
  assert.equal(beginnings, 2);
  const inParts = toEnd(inStretches(around, numbers));
  assert.equal(beginnings, 4);
  const counted = (list: unknown): number[] => (list as number[]).map((item) => item);
  assert.deepEqual(inParts.map(counted), atOnce.map(counted));
});

test('a loop of small steps goes on where it stood, pauses after each and in what is long in it', () => {
  const numbers = { count: 0 };
  const list = Array.from({ length: 300 }, (_, at) => at);
  let begun = 0;
  const around = (): readonly unknown[] => {
    const number = (): number => {
      numbers.count += 1;
      return numbers.count;
    };
    const sums = smallSteps(
      () => {
        begun += 1;
        return { made: [number()], left: 40 };
      },
      (state) => {
        const numbered = mapLong(list, number);
        state.made.push(numbered.length, numbered[0] as number, number());
        state.left -= 1;
        return state.left === 0;
      },
    );
    return [sums.made, mapLong(list, number), someLong(list, (item) => item === 299)];
  };
  const atOnce = around();
  numbers.count = 0;
  const work = inStretches(around, numbers);
  let pauses = 0;
  let step = work.next();
  for (; step.done !== true; step = work.next()) pauses += 1;
  assert.deepEqual(step.value, atOnce);
  assert.equal(begun, 2);
  assert.ok(pauses >= 12, `${pauses} pauses`);
});

test('an item is looked for among very many with pauses, each is looked at once', () => {
  const items = Array.from({ length: 200_000 }, (_, at) => at);
  for (const wanted of [0, 1_023, 70_000, 199_999, -1]) {
    let looks = 0;
    const work = inStretches(() =>
      someLong(items, (item) => {
        looks += 1;
        return item === wanted;
      }),
    );
    let pauses = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) pauses += 1;
    assert.equal(step.value, wanted >= 0);
    assert.equal(looks, wanted < 0 ? items.length : wanted + 1);
    assert.ok(pauses >= Math.floor(looks / 16_000), `${pauses} pauses`);
  }
});

test('what the work throws is thrown, and work inside of other work is its own', () => {
  const failing = inStretches(() =>
    mapLong(Array.from({ length: 3_000 }), (_, at) => {
      if (at === 2_500) throw new RangeError('at 2500');
      return toEnd(inStretches(() => mapLong([at], (item) => item)));
    }),
  );
  assert.throws(() => toEnd(failing), /at 2500/);
  assert.deepEqual(
    mapLong([1, 2], (item) => item * 2),
    [2, 4],
  );
});
