/** The nine patterns of LSQB as its authors write them in Cypher, over the names of `lsqb-data.ts`. */
export const lsqbPatterns: Readonly<Record<string, string>> = {
  Q1: `MATCH (:Country)<-[:City_isPartOf_Country]-(:City)<-[:Person_isLocatedIn_City]-(:Person)
    <-[:Forum_hasMember_Person]-(:Forum)-[:Forum_containerOf_Post]->(:Post)<-[:Comment_replyOf_Message]-(:Comment)
    -[:Message_hasTag_Tag]->(:Tag)-[:Tag_hasType_TagClass]->(:TagClass) RETURN count(*) AS n`,
  Q2: `MATCH (p1:Person)-[:Person_knows_Person]-(p2:Person),
    (p1)<-[:Message_hasCreator_Person]-(:Comment)-[:Comment_replyOf_Message]->(:Post)
    -[:Message_hasCreator_Person]->(p2) RETURN count(*) AS n`,
  Q3: `MATCH (c:Country)
    MATCH (p1:Person)-[:Person_isLocatedIn_City]->(:City)-[:City_isPartOf_Country]->(c)
    MATCH (p2:Person)-[:Person_isLocatedIn_City]->(:City)-[:City_isPartOf_Country]->(c)
    MATCH (p3:Person)-[:Person_isLocatedIn_City]->(:City)-[:City_isPartOf_Country]->(c)
    MATCH (p1)-[:Person_knows_Person]-(p2)-[:Person_knows_Person]-(p3)-[:Person_knows_Person]-(p1)
    RETURN count(*) AS n`,
  Q4: `MATCH (:Tag)<-[:Message_hasTag_Tag]-(m:Message)-[:Message_hasCreator_Person]->(:Person),
    (m)<-[:Person_likes_Message]-(:Person), (m)<-[:Comment_replyOf_Message]-(:Comment) RETURN count(*) AS n`,
  Q5: `MATCH (t1:Tag)<-[:Message_hasTag_Tag]-(:Message)<-[:Comment_replyOf_Message]-(:Comment)
    -[:Message_hasTag_Tag]->(t2:Tag) WHERE t1 <> t2 RETURN count(*) AS n`,
  Q6: `MATCH (p1:Person)-[:Person_knows_Person]-(:Person)-[:Person_knows_Person]-(p3:Person)
    -[:Person_hasInterest_Tag]->(:Tag) WHERE p1 <> p3 RETURN count(*) AS n`,
  Q7: `MATCH (:Tag)<-[:Message_hasTag_Tag]-(m:Message)-[:Message_hasCreator_Person]->(:Person)
    OPTIONAL MATCH (m)<-[:Person_likes_Message]-(:Person)
    OPTIONAL MATCH (m)<-[:Comment_replyOf_Message]-(:Comment) RETURN count(*) AS n`,
  Q8: `MATCH (t1:Tag)<-[:Message_hasTag_Tag]-(:Message)<-[:Comment_replyOf_Message]-(c:Comment)
    -[:Message_hasTag_Tag]->(t2:Tag) WHERE t1 <> t2 AND NOT (c)-[:Message_hasTag_Tag]->(t1) RETURN count(*) AS n`,
  Q9: `MATCH (p1:Person)-[:Person_knows_Person]-(:Person)-[:Person_knows_Person]-(p3:Person)
    -[:Person_hasInterest_Tag]->(:Tag) WHERE p1 <> p3 AND NOT (p1)-[:Person_knows_Person]-(p3)
    RETURN count(*) AS n`,
};
