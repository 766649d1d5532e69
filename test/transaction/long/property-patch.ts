import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { coerceDeclared } from '#catalog/coercion.ts';
import type { PropertyAttribute } from '#catalog/change/changes.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Rid } from '#core/value/rid.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { LocalDate } from '#core/temporal/temporal.ts';
import { Float, type Value } from '#core/value/value.ts';
import { ByteWriter } from '#storage/format/byte-writer.ts';
import { writeValue } from '#storage/format/value-codec.ts';
import { PropertyPatch } from '#transaction/write/property-patch.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { index, property, type } from '#test/catalog/catalog-builder.ts';
import { arbitraryScalar, arbitraryValue } from '#test/storage/arbitrary-values.ts';
import { openTestState, type TestState } from '../support/open-state.ts';

const names = ['a', 'b', 'c', 'd', 'e'] as const;

/** Each property has a kind of value that it mostly holds, few of a kind, so that some stay equal and meet in indexes. */
const usual: Readonly<Record<(typeof names)[number], fc.Arbitrary<Value>>> = {
  a: fc.oneof(fc.nat({ max: 3 }), fc.constantFrom<Value>(2n ** 60n, -1)),
  b: fc.constantFrom<Value>(0.5, -0.25, new Float(2), new Float(-0), Number.NaN),
  c: fc.oneof(fc.constantFrom('x', '', 'y"', 'Ω'), fc.string({ maxLength: 40 })),
  d: fc.constantFrom<Value>(true, false),
  e: fc.integer({ min: 0, max: 2 }).map((day) => new LocalDate(day)),
};
const assignment: fc.Arbitrary<readonly [(typeof names)[number], Value]> = fc
  .constantFrom(...names)
  .chain((name) =>
    fc.tuple(
      fc.constant(name),
      fc.oneof(
        { weight: 12, arbitrary: usual[name] },
        { weight: 2, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: arbitraryScalar },
        { weight: 1, arbitrary: arbitraryValue },
      ),
    ),
  );
const initial: fc.Arbitrary<readonly (readonly [string, Value])[]> = fc
  .tuple(
    ...names.map((name) =>
      fc.option(fc.oneof({ weight: 8, arbitrary: usual[name] }, fc.constant(null)), {
        nil: undefined,
        freq: 8,
      }),
    ),
    fc.constantFrom(undefined, undefined, undefined, ...names),
  )
  .map((drawn) => {
    // One of them may be missing.
    const without = drawn.pop();
    const entries = names.map((name, at) => [name, drawn[at] as Value | undefined] as const);
    const given = entries.filter(([name, value]) => value !== undefined && name !== without) as [
      string,
      Value,
    ][];
    return given;
  });

/** The types that may be declared for them; the first fits all of their usual values. */
const dataTypes: Readonly<Record<(typeof names)[number], readonly [string, ...string[]]>> = {
  a: ['LONG', 'DECIMAL', 'DOUBLE'],
  b: ['DOUBLE', 'FLOAT'],
  c: ['STRING', 'BINARY'],
  d: ['BOOLEAN', 'STRING'],
  e: ['DATE', 'DATETIME', 'DATETIME_SECOND', 'DATETIME_MICROS'],
};
const declaration = fc.constantFrom(...names).chain((name) =>
  fc.record({
    name: fc.constant(name),
    dataType: fc.oneof(fc.constant(dataTypes[name][0]), fc.constantFrom(...dataTypes[name])),
    attribute: fc.option(
      fc.constantFrom<PropertyAttribute>(
        { name: 'MANDATORY', value: true },
        { name: 'NOTNULL', value: true },
        { name: 'READONLY', value: true },
      ),
      { nil: undefined, freq: 1 },
    ),
  }),
);

const scenario = fc.record({
  declared: fc.uniqueArray(declaration, { selector: ({ name }) => name, maxLength: 3 }),
  unique: fc.option(fc.constantFrom(...names), { nil: undefined, freq: 1 }),
  indexed: fc.option(fc.constantFrom(...names), { nil: undefined, freq: 1 }),
  initial,
  isEdge: fc.boolean(),
  updates: fc.array(
    fc.record({
      changes: fc.uniqueArray(assignment, {
        selector: ([name]) => name,
        minLength: 1,
        maxLength: 3,
      }),
      commits: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  ),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** Each value in its stored bytes: 1 and 1.0 differ. */
function contentOf(view: ReadView, rid: Rid): readonly string[] {
  const record = view.record(rid);
  assert.ok(record !== undefined);
  const content = record.propertyNames().map((name) => {
    const out = new ByteWriter();
    writeValue(out, record.get(name) as Value);
    return `${name} ${out.take().toString('hex')}`;
  });
  return [...content, `ends ${record.out} ${record.in}`];
}

function outcomeOf(write: () => unknown): string {
  try {
    write();
    return 'written';
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

/** As an UPDATE statement assigns: values of declared properties converted one by one. */
function coerced(tx: Transaction, owner: string, changes: Scenario['updates'][number]['changes']) {
  const { catalog } = tx;
  const context = { catalog, formats: defaultTemporalFormats };
  const id = catalog.typeNamed(owner)?.id;
  assert.ok(id !== undefined);
  return changes.map(([name, value]) => {
    const declared = catalog.property(id, name);
    return declared === undefined ? value : coerceDeclared(declared, value, context);
  });
}

/** Two types that are declared alike: records of one are patched where that goes, those of the other always written whole. */
async function open(given: Scenario): Promise<TestState> {
  const db = await openTestState();
  await db.alter(type('vertex', 'V'));
  for (const owner of ['Patched', 'Whole']) {
    await db.alter(type(given.isEdge ? 'edge' : 'document', owner));
    for (const { name, dataType, attribute } of given.declared)
      await db.alter(property([owner, name], dataType, attribute === undefined ? [] : [attribute]));
    for (const [name, unique] of [
      [given.indexed, false],
      [given.unique, true],
    ] as const) {
      if (name === undefined || (unique && name === given.indexed)) continue;
      await db.alter(property([owner, name], dataTypes[name][0])).catch(() => {});
      await db.alter(index(owner, [name], { unique })).catch(() => {});
    }
  }
  return db;
}

let patchedCount = 0;

function change(tx: Transaction, rid: Rid, { owner, changes }: Change): string {
  return outcomeOf(() => {
    const values = coerced(tx, owner, changes);
    const record = tx.record(rid);
    assert.ok(record !== undefined);
    if (owner === 'Patched') {
      const patch = new PropertyPatch(changes.map(([name]) => name));
      const written = tx.patch(record, patch, values);
      if (written !== undefined) {
        patchedCount += 1;
        for (const [at, [name]] of changes.entries())
          assert.deepEqual(written.get(name), values[at]);
        return;
      }
    }
    const properties = new Map<string, Value>();
    for (const name of record.propertyNames()) properties.set(name, record.get(name) as Value);
    for (const [at, [name]] of changes.entries()) properties.set(name, values[at] as Value);
    tx.update(rid, properties);
  }).replaceAll(owner, 'T');
}

interface Change {
  readonly owner: 'Patched' | 'Whole';
  readonly changes: Scenario['updates'][number]['changes'];
}

function insertTwins(
  db: TestState,
  tx: Transaction,
  given: Scenario,
): readonly [Rid, Rid] | undefined {
  const { isEdge } = given;
  const ends = [1, 2].map(() => tx.insertVertex(db.typeId('V'), new Map()).rid) as [Rid, Rid];
  const made = (['Patched', 'Whole'] as const).map((owner) => {
    const properties = new Map<string, Value>(given.initial);
    for (const { name, attribute } of given.declared)
      if (attribute !== undefined && (properties.get(name) ?? null) === null)
        properties.delete(name);
    let rid: Rid | undefined;
    outcomeOf(() => {
      rid = isEdge
        ? tx.insertEdge(db.typeId(owner), ...ends, properties).rid
        : tx.insertDocument(db.typeId(owner), properties).rid;
    });
    return rid;
  });
  const [patched, whole] = made;
  return patched === undefined || whole === undefined ? undefined : [patched, whole];
}

test('a patched record is what writing it whole makes of it, whatever is declared and assigned', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (given) => {
      await using db = await open(given);
      let tx = db.state.begin('READ_COMMITTED');
      try {
        const twins = insertTwins(db, tx, given);
        if (twins === undefined) return;
        for (const { changes, commits } of given.updates) {
          const [one, other]: readonly string[] = [
            change(tx, twins[0], { owner: 'Patched', changes }),
            change(tx, twins[1], { owner: 'Whole', changes }),
          ];
          assert.equal(one, other);
          assert.deepEqual(contentOf(tx, twins[0]), contentOf(tx, twins[1]));
          if (!commits) continue;
          await tx.commit();
          tx = db.state.begin('READ_COMMITTED');
          assert.deepEqual(contentOf(tx, twins[0]), contentOf(tx, twins[1]));
        }
      } finally {
        tx.rollback();
      }
    }),
    { numRuns: 100 },
  );
  assert.ok(patchedCount > 30, `${patchedCount} records were patched`);
});

test('a patch of a record that somebody else has changed meets a conflict, one of an unchanged value none', async () => {
  await using db = await openTestState();
  await db.alter(type('document', 'D'));
  let rid: Rid;
  {
    using tx = db.state.begin('READ_COMMITTED');
    ({ rid } = tx.insertDocument(
      db.typeId('D'),
      new Map<string, Value>([
        ['a', 1],
        ['b', 'x'],
      ]),
    ));
    await tx.commit();
  }
  const patch = new PropertyPatch(['a']);
  using one = db.state.begin('REPEATABLE_READ');
  using same = db.state.begin('REPEATABLE_READ');
  using other = db.state.begin('REPEATABLE_READ');
  for (const [tx, value] of [
    [one, 2],
    [other, 3],
    [same, 1],
  ] as const) {
    const record = tx.record(rid);
    assert.ok(record !== undefined);
    assert.equal(tx.patch(record, patch, [value])?.get('a'), value);
    assert.equal(tx.record(rid)?.get('a'), value);
    assert.equal(tx.hasWrites, value !== 1);
  }
  await one.commit();
  await assert.rejects(other.commit(), { code: 'ConcurrentModification' });
  await same.commit();
  using view = db.state.view();
  assert.equal(view.record(rid)?.get('a'), 2);
  assert.equal(view.record(rid)?.get('b'), 'x');
});

test('a savepoint takes patches back', async () => {
  await using db = await openTestState();
  await db.alter(type('document', 'D'));
  using tx = db.state.begin('READ_COMMITTED');
  const { rid } = tx.insertDocument(db.typeId('D'), new Map<string, Value>([['a', 1]]));
  const place = tx.savepoint();
  const record = tx.record(rid);
  assert.ok(record !== undefined);
  assert.ok(tx.patch(record, new PropertyPatch(['a']), [5]) !== undefined);
  assert.equal(tx.record(rid)?.get('a'), 5);
  place.undo();
  assert.equal(tx.record(rid)?.get('a'), 1);
});
