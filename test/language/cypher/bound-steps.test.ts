// Goal: a step between two bound nodes costs a look into a table where either of them comes again. Method: what pairs of nodes have in
// common, counted beside plain loops, while the degrees that are asked for are counted.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { openTestDatabase } from '#test/database/support/open-test-database.ts';
import { StatementView } from '#transaction/read/statement-view.ts';

const mine = 40;
const others = 30;
const likesEach = 10;
const tagCount = 60;
const likesOf = (person: number): readonly number[] =>
  person === 0
    ? Array.from({ length: mine }, (_, at) => at)
    : Array.from({ length: likesEach }, (_, at) => (person * 7 + at * 11) % tagCount);

test('a node that pairs of nodes come to again is asked for its degree once for each of the others', async () => {
  const db = await openTestDatabase();
  try {
    const persons = Array.from({ length: others + 1 }, (_, id) => ({ id, likes: likesOf(id) }));
    for (const text of [
      `UNWIND range(0, ${tagCount - 1}) AS id CREATE (:Tag {id: id})`,
      `UNWIND [${persons.map(({ id, likes }) => `{id: ${id}, likes: [${likes.join()}]}`).join()}] AS person
        CREATE (p:Person {id: person.id}) WITH p, person UNWIND person.likes AS tag
        MATCH (t:Tag {id: tag}) CREATE (p)-[:LIKES]->(t)`,
    ])
      await db.run(text, {}, {}, 'cypher');
    const expected = persons
      .slice(1)
      .map(({ id, likes }) => ({ id, common: likes.filter((tag) => tag < mine).length }));
    for (const [from, to] of ['pf', 'fp']) {
      const degree = mock.method(StatementView.prototype, 'degree');
      const rows = await db.run(
        `MATCH (p:Person {id: 0}), (f:Person) WHERE f.id > 0
          RETURN f.id AS id, COUNT { (${from})-[:LIKES]->()<-[:LIKES]-(${to}) } AS common ORDER BY id`,
        {},
        {},
        'cypher',
      );
      degree.mock.restore();
      assert.deepEqual(rows, expected);
      const asked = degree.mock.callCount();
      assert.ok(asked > 0 && asked <= 20 * others, `${from}${to}: ${asked} times`);
    }
  } finally {
    await db.close();
  }
});
