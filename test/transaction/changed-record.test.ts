import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type IntegerWidth, integerWidthOf } from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { type LogIndex, noRid, type Rid, type TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import { ChangedRecord } from '#transaction/write/changed-record.ts';

/** Counts how often somebody gathers its widths. */
class CountedRecord implements StoredRecord {
  readonly valueKind = 'record';
  readonly kind = 'document';
  readonly rid = 0 as Rid;
  readonly type = 0 as TypeId;
  readonly typeName = 'T';
  readonly version = 1 as LogIndex;
  readonly out = noRid;
  readonly in = noRid;
  gatheredCount = 0;

  get(property: string): Value | undefined {
    return property === 'b' || property === 'p1' ? 5 : undefined;
  }

  propertyNames(): readonly string[] {
    return ['b', 'p1'];
  }

  get integerWidths(): ReadonlyMap<string, IntegerWidth> {
    this.gatheredCount += 1;
    return new Map([
      ['b', 'LONG'],
      ['p1', 'SHORT'],
    ]);
  }
}

test('one width is told without those of the items before it; what is not changed is as it was', () => {
  const base = new CountedRecord();
  const names = Array.from({ length: 2_000 }, (_, at) => `p${at}`);
  const values: Value[] = [];
  const widths: (IntegerWidth | undefined)[] = [];
  const record = new ChangedRecord(base, names, values, base.version, widths);
  assert.equal(integerWidthOf(record, 'p1'), 'SHORT');
  for (let at = 0; at < names.length; at += 1) {
    widths[at] = at % 2 === 0 ? 'LONG' : undefined;
    values.push(at);
    assert.equal(integerWidthOf(record, `p${at}`), widths[at]);
  }
  assert.equal(base.gatheredCount, 1);
  assert.equal(integerWidthOf(record, 'b'), 'LONG');
  assert.equal(integerWidthOf(record, 'c'), undefined);
  for (const name of [...names, 'b', 'c'])
    assert.equal(record.integerWidths?.get(name), integerWidthOf(record, name));
});
