/**
 * The nine counting patterns of LSQB as MATCH and as SQL joins over the tables of `lsqb-relational.ts`. Friendship is
 * undirected: MATCH walks `-Person_knows_Person-`, the table holds both directions.
 */
export interface LsqbQuery {
  readonly name: string;
  readonly match: string;
  readonly joins: string;
}

const sameCountry = `
  JOIN City_isPartOf_Country c1 ON c1.src = l1.dst JOIN City_isPartOf_Country c2 ON c2.src = l2.dst AND c2.dst = c1.dst
  JOIN City_isPartOf_Country c3 ON c3.src = l3.dst AND c3.dst = c1.dst`;

export const lsqbQueries: readonly LsqbQuery[] = [
  {
    name: 'Q1',
    match: `MATCH {type: Country}<-City_isPartOf_Country-{type: City}<-Person_isLocatedIn_City-{type: Person}
      <-Forum_hasMember_Person-{type: Forum}-Forum_containerOf_Post->{type: Post}<-Comment_replyOf_Message-{type: Comment}
      -Message_hasTag_Tag->{type: Tag}-Tag_hasType_TagClass->{type: TagClass} RETURN count(*) AS n`,
    joins: `SELECT count(*) FROM City_isPartOf_Country a JOIN Person_isLocatedIn_City b ON b.dst = a.src
      JOIN Forum_hasMember_Person c ON c.dst = b.src JOIN Forum_containerOf_Post d ON d.src = c.src
      JOIN Comment_replyOf_Message e ON e.dst = d.dst JOIN Message_hasTag_Tag f ON f.src = e.src
      JOIN Tag_hasType_TagClass g ON g.src = f.dst`,
  },
  {
    name: 'Q2',
    match: `MATCH {type: Person, as: p1}-Person_knows_Person-{type: Person, as: p2},
      {as: p1}<-Message_hasCreator_Person-{type: Comment, as: comment}-Comment_replyOf_Message->{type: Post, as: post}
      -Message_hasCreator_Person->{as: p2} RETURN count(*) AS n`,
    joins: `SELECT count(*) FROM Person_knows_Person k JOIN Message_hasCreator_Person a ON a.dst = k.src
      JOIN Comment_replyOf_Message r ON r.src = a.src JOIN Post p ON p.id = r.dst
      JOIN Message_hasCreator_Person b ON b.src = r.dst AND b.dst = k.dst`,
  },
  {
    name: 'Q3',
    match: `MATCH {type: Country, as: country}<-City_isPartOf_Country-{type: City}<-Person_isLocatedIn_City-{type: Person, as: p1}
      -Person_knows_Person-{type: Person, as: p2}-Person_knows_Person-{type: Person, as: p3}-Person_knows_Person-{as: p1},
      {as: p2}-Person_isLocatedIn_City->{type: City}-City_isPartOf_Country->{as: country},
      {as: p3}-Person_isLocatedIn_City->{type: City}-City_isPartOf_Country->{as: country} RETURN count(*) AS n`,
    joins: `SELECT count(*) FROM Person_knows_Person x JOIN Person_knows_Person y ON y.src = x.dst
      JOIN Person_knows_Person z ON z.src = y.dst AND z.dst = x.src JOIN Person_isLocatedIn_City l1 ON l1.src = x.src
      JOIN Person_isLocatedIn_City l2 ON l2.src = y.src JOIN Person_isLocatedIn_City l3 ON l3.src = z.src ${sameCountry}`,
  },
  {
    name: 'Q4',
    match: `MATCH {type: Tag}<-Message_hasTag_Tag-{type: Message, as: message}-Message_hasCreator_Person->{type: Person},
      {as: message}<-Person_likes_Message-{type: Person}, {as: message}<-Comment_replyOf_Message-{type: Comment}
      RETURN count(*) AS n`,
    joins: `SELECT count(*) FROM Message_hasTag_Tag t JOIN Message_hasCreator_Person c ON c.src = t.src
      JOIN Person_likes_Message l ON l.dst = t.src JOIN Comment_replyOf_Message r ON r.dst = t.src`,
  },
  {
    name: 'Q5',
    match: `MATCH {type: Tag, as: t1}<-Message_hasTag_Tag-{type: Message}<-Comment_replyOf_Message-{type: Comment}
      -Message_hasTag_Tag->{type: Tag, as: t2, where: ($matched.t1 != $currentMatch)} RETURN count(*) AS n`,
    joins: `SELECT count(*) FROM Message_hasTag_Tag a JOIN Comment_replyOf_Message r ON r.dst = a.src
      JOIN Message_hasTag_Tag b ON b.src = r.src WHERE a.dst <> b.dst`,
  },
  {
    name: 'Q6',
    match: `MATCH {type: Person, as: p1}-Person_knows_Person-{type: Person, as: p2}-Person_knows_Person-
      {type: Person, as: p3, where: ($matched.p1 != $currentMatch)}-Person_hasInterest_Tag->{type: Tag} RETURN count(*) AS n`,
    joins: `SELECT count(*) FROM Person_knows_Person x JOIN Person_knows_Person y ON y.src = x.dst AND y.dst <> x.src
      JOIN Person_hasInterest_Tag i ON i.src = y.dst`,
  },
  {
    name: 'Q7',
    match: `MATCH {type: Tag}<-Message_hasTag_Tag-{type: Message, as: message}-Message_hasCreator_Person->{type: Person},
      {as: message}<-Person_likes_Message-{type: Person, as: liker, optional: true},
      {as: message}<-Comment_replyOf_Message-{type: Comment, as: comment, optional: true} RETURN count(*) AS n`,
    joins: `SELECT count(*) FROM Message_hasTag_Tag t JOIN Message_hasCreator_Person c ON c.src = t.src
      LEFT JOIN Person_likes_Message l ON l.dst = t.src LEFT JOIN Comment_replyOf_Message r ON r.dst = t.src`,
  },
  {
    name: 'Q8',
    match: `MATCH {type: Tag, as: t1}<-Message_hasTag_Tag-{type: Message}<-Comment_replyOf_Message-{type: Comment, as: comment}
      -Message_hasTag_Tag->{type: Tag, as: t2, where: ($matched.t1 != $currentMatch)},
      NOT {as: comment}-Message_hasTag_Tag->{as: t1} RETURN count(*) AS n`,
    joins: `SELECT count(*) FROM Message_hasTag_Tag a JOIN Comment_replyOf_Message r ON r.dst = a.src
      JOIN Message_hasTag_Tag b ON b.src = r.src WHERE a.dst <> b.dst
      AND NOT EXISTS (SELECT 1 FROM Message_hasTag_Tag n WHERE n.src = r.src AND n.dst = a.dst)`,
  },
  {
    name: 'Q9',
    match: `MATCH {type: Person, as: p1}-Person_knows_Person-{type: Person, as: p2}-Person_knows_Person-
      {type: Person, as: p3, where: ($matched.p1 != $currentMatch)}-Person_hasInterest_Tag->{type: Tag},
      NOT {as: p1}-Person_knows_Person-{as: p3} RETURN count(*) AS n`,
    joins: `SELECT count(*) FROM Person_knows_Person x JOIN Person_knows_Person y ON y.src = x.dst AND y.dst <> x.src
      JOIN Person_hasInterest_Tag i ON i.src = y.dst
      WHERE NOT EXISTS (SELECT 1 FROM Person_knows_Person n WHERE n.src = x.src AND n.dst = y.dst)`,
  },
];
