Feature: failures that are found before anything runs, and those that are not

  Scenario Outline: a property of what has none
    Given an empty graph
    When executing query:
      """
      <query>
      """
    Then a TypeError should be raised at compile time: InvalidArgumentType

    Examples:
      | query                                   |
      | WITH 123 AS x RETURN x.num              |
      | WITH 42.45 AS x RETURN x.num            |
      | WITH true AS x RETURN x.num             |
      | WITH 'text' AS x RETURN x.num           |
      | WITH [123, true] AS x RETURN x.num      |
      | RETURN (1).num                          |

  Scenario: a property of an element that has none
    Given an empty graph
    When executing query:
      """
      WITH [{num: 0}, 1] AS list
      RETURN (list[1]).num
      """
    Then a TypeError should be raised at runtime: InvalidArgumentType

  Scenario Outline: what labels() and type() cannot tell
    Given an empty graph
    And having executed:
      """
      CREATE (:A)-[:T]->(:B)
      """
    When executing query:
      """
      MATCH (a:A)-[r]->()
      WITH [a, r, 1] AS list
      RETURN <call>
      """
    Then a TypeError should be raised at runtime: InvalidArgumentValue

    Examples:
      | call              |
      | labels(list[1])   |
      | labels(list[2])   |
      | type(list[0])     |
      | type(list[2])     |
      | toFloat(list[0])  |
      | toString(list[1]) |

  Scenario Outline: a pattern is no value
    Given an empty graph
    When executing query:
      """
      MATCH (n)
      <rest>
      """
    Then a SyntaxError should be raised at compile time: UnexpectedSyntax

    Examples:
      | rest                                    |
      | RETURN (n)-->()                         |
      | RETURN size((n)-->())                   |
      | RETURN count((n)-->())                  |
      | RETURN [(n)-->()]                       |
      | RETURN head(nodes((n)-->()))            |
      | WITH (n)-->() AS x RETURN x             |
      | UNWIND (n)-->() AS x RETURN x           |
      | SET n.p = (n)-->() RETURN n             |
      | WHERE (n)-->() = true RETURN n          |

  Scenario Outline: RETURN and FINISH end a query
    Given an empty graph
    When executing query:
      """
      <query>
      """
    Then a SyntaxError should be raised at compile time: InvalidClauseComposition

    Examples:
      | query                                         |
      | RETURN 1 RETURN 2                             |
      | CREATE (n) RETURN n MATCH (m) RETURN m        |
      | CREATE (n) FINISH RETURN 1                    |
      | CALL { RETURN 1 AS x RETURN 2 AS y } RETURN x |
      | MATCH (n) CALL db.labels() YIELD label        |
      | MATCH (n) WITH n                              |

  Scenario Outline: what NOT cannot negate
    Given an empty graph
    When executing query:
      """
      RETURN NOT <value>
      """
    Then a SyntaxError should be raised at compile time: InvalidArgumentType

    Examples:
      | value  |
      | 0      |
      | 1.5    |
      | 'text' |
      | []     |
      | [true] |
      | {}     |

  Scenario Outline: what is grouped by
    Given an empty graph
    When executing query:
      """
      MATCH (a)--(b)
      <rest>
      """
    Then a SyntaxError should be raised at compile time: <detail>

    Examples:
      | rest                                                                  | detail                         |
      | RETURN a.x + count(*)                                                 | AmbiguousAggregationExpression |
      | RETURN a.x + b.x + count(*)                                           | AmbiguousAggregationExpression |
      | WITH a.x + b.x AS s, a.x + b.x + count(*) AS c RETURN c               | AmbiguousAggregationExpression |
      | RETURN a.x + b.x, count(*) AS c ORDER BY a.x + b.x + count(*)         | AmbiguousAggregationExpression |
      | RETURN count(b.x) AS c ORDER BY a.x + count(b.x)                      | UndefinedVariable              |
      | RETURN a.x ORDER BY max(b.x)                                          | InvalidAggregation             |
      | RETURN DISTINCT a.x AS x ORDER BY b.x                                 | UndefinedVariable              |

  Scenario Outline: numbers that are none
    Given an empty graph
    When executing query:
      """
      RETURN <number>
      """
    Then a SyntaxError should be raised at compile time: <detail>

    Examples:
      | number                   | detail                |
      | 0x                       | InvalidNumberLiteral  |
      | 0x1A2b3j                 | InvalidNumberLiteral  |
      | 0o8                      | InvalidNumberLiteral  |
      | 9223372h54775808         | InvalidNumberLiteral  |
      | 0x8000000000000000       | IntegerOverflow       |
      | -0x8000000000000001      | IntegerOverflow       |
      | 0o1000000000000000000000 | IntegerOverflow       |
      | 1.34E999                 | FloatingPointOverflow |
