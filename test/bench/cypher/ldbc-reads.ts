/** Reads like those of LDBC's interactive workload, short and complex, over the names of `lsqb-data.ts` and `ldbc-model.ts`. */
export interface LdbcRead {
  readonly name: string;
  readonly kind: 'short' | 'complex';
  readonly text: string;
}

const knows = ':Person_knows_Person';
const creator = ':Message_hasCreator_Person';

export const ldbcReads: readonly LdbcRead[] = [
  {
    name: 'short 1: a person',
    kind: 'short',
    text: `MATCH (p:Person {id: $person})-[:Person_isLocatedIn_City]->(c:City)
      RETURN p.firstName AS name, p.birthMonth AS month, c.id AS city`,
  },
  {
    name: 'short 2: newest ten messages and their threads',
    kind: 'short',
    text: `MATCH (:Person {id: $person})<-[${creator}]-(m:Message)
      WITH m ORDER BY m.date DESC, m.id LIMIT 10
      MATCH (m)-[:Comment_replyOf_Message*0..]->(post:Post)-[${creator}]->(author:Person)
      RETURN m.id AS message, post.id AS post, author.id AS author ORDER BY m.date DESC, m.id`,
  },
  {
    name: 'short 3: friends by date',
    kind: 'short',
    text: `MATCH (:Person {id: $person})-[k${knows}]-(f:Person)
      RETURN f.id AS friend, f.firstName AS name, k.since AS since ORDER BY since DESC, friend`,
  },
  {
    name: 'short 4: a message',
    kind: 'short',
    text: 'MATCH (m:Message {id: $message}) RETURN m.date AS date, m.content AS content',
  },
  {
    name: 'short 5: its author',
    kind: 'short',
    text: `MATCH (:Message {id: $message})-[${creator}]->(p:Person) RETURN p.id AS author, p.firstName AS name`,
  },
  {
    name: 'short 6: its forum',
    kind: 'short',
    text: `MATCH (:Message {id: $message})-[:Comment_replyOf_Message*0..]->(:Post)<-[:Forum_containerOf_Post]-(f:Forum)
      -[:Forum_hasModerator_Person]->(p:Person) RETURN f.id AS forum, p.id AS moderator`,
  },
  {
    name: 'short 7: replies, and who knows whom',
    kind: 'short',
    text: `MATCH (m:Message {id: $message})<-[:Comment_replyOf_Message]-(c:Comment)-[${creator}]->(p:Person)
      MATCH (m)-[${creator}]->(a:Person)
      RETURN c.id AS reply, p.id AS author, EXISTS { (a)-[${knows}]-(p) } AS isKnown ORDER BY c.date DESC, author`,
  },
  {
    name: 'complex 1: friends to depth 3 by name',
    kind: 'complex',
    text: `MATCH (p:Person {id: $person}), (f:Person {firstName: $name}) WHERE p <> f
      MATCH path = shortestPath((p)-[${knows}*1..3]-(f))
      RETURN f.id AS friend, length(path) AS distance ORDER BY distance, friend LIMIT 20`,
  },
  {
    name: 'complex 2: newest messages of friends',
    kind: 'complex',
    text: `MATCH (:Person {id: $person})-[${knows}]-(f:Person)<-[${creator}]-(m:Message) WHERE m.date <= $date
      RETURN f.id AS friend, m.id AS message, m.date AS date ORDER BY date DESC, message LIMIT 20`,
  },
  {
    name: 'complex 4: new topics',
    kind: 'complex',
    text: `MATCH (:Person {id: $person})-[${knows}]-(f:Person)<-[${creator}]-(post:Post)-[:Message_hasTag_Tag]->(t:Tag)
      WITH DISTINCT t, post
      WITH t, sum(CASE WHEN post.date >= $date THEN 1 ELSE 0 END) AS fresh,
        sum(CASE WHEN post.date < $date THEN 1 ELSE 0 END) AS old
      WHERE fresh > 0 AND old = 0 RETURN t.id AS tag, fresh AS posts ORDER BY posts DESC, tag LIMIT 10`,
  },
  {
    name: 'complex 6: common tags',
    kind: 'complex',
    text: `MATCH (:Person {id: $person})-[${knows}*1..2]-(f:Person) WHERE f.id <> $person
      WITH DISTINCT f MATCH (f)<-[${creator}]-(post:Post)-[:Message_hasTag_Tag]->(:Tag {id: $tag})
      MATCH (post)-[:Message_hasTag_Tag]->(t:Tag) WHERE t.id <> $tag
      RETURN t.id AS tag, count(DISTINCT post) AS posts ORDER BY posts DESC, tag LIMIT 10`,
  },
  {
    name: 'complex 10: friends of friends to meet',
    kind: 'complex',
    text: `MATCH (p:Person {id: $person})-[${knows}]-(:Person)-[${knows}]-(f:Person)
      WHERE f <> p AND f.birthMonth = $month AND NOT (p)-[${knows}]-(f)
      WITH DISTINCT p, f
      RETURN f.id AS friend, COUNT { (p)-[:Person_hasInterest_Tag]->()<-[:Person_hasInterest_Tag]-(f) } AS common
      ORDER BY common DESC, friend LIMIT 10`,
  },
  {
    name: 'complex 13: shortest path',
    kind: 'complex',
    text: `MATCH (a:Person {id: $person}), (b:Person {id: $other})
      OPTIONAL MATCH path = shortestPath((a)-[${knows}*]-(b)) RETURN coalesce(length(path), -1) AS length`,
  },
  {
    name: 'complex 14: weighted path',
    kind: 'complex',
    text: `MATCH (a:Person {id: $person}), (b:Person {id: $other})
      CALL algo.dijkstra(a, b, 'Person_knows_Person', 'weight') YIELD weight RETURN weight`,
  },
];
