import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Linked, LinkedList } from '#core/linked-list.ts';

interface Member extends Linked<Member> {
  readonly number: number;
}

function members(list: LinkedList<Member>): number[] {
  const numbers: number[] = [];
  for (let member = list.first; member !== undefined; member = member.next)
    numbers.push(member.number);
  return numbers;
}

test('a linked list holds what a set that grows and shrinks alike holds, in the same order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 7 })), (steps) => {
      const all = Array.from({ length: 8 }, (_, number): Member => {
        return { number, previous: undefined, next: undefined };
      });
      const list = new LinkedList<Member>();
      const expected = new Set<number>();
      for (const number of steps) {
        const member = all[number] as Member;
        if (expected.delete(number)) list.remove(member);
        else {
          expected.add(number);
          list.append(member);
        }
        assert.deepEqual(members(list), [...expected]);
        assert.equal(list.length, expected.size);
      }
      for (const member of all)
        if (!expected.has(member.number)) assert.equal(member.next ?? member.previous, undefined);
    }),
  );
});
