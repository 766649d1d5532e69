Feature: values that cypher.md describes and the suite does not show

  Scenario: any label is one at least
    Given an empty graph
    And having executed:
      """
      CREATE (:A {n: 1}), (:A:B {n: 2}), ({n: 3})
      """
    When executing query:
      """
      MATCH (n) RETURN n.n AS n, n:% AS some, n:!% AS none, COUNT { MATCH (:%) } AS labelled, COUNT { MATCH (:!%) } AS bare
      """
    Then the result should be, in any order:
      | n | some  | none  | labelled | bare |
      | 1 | true  | false | 2        | 1    |
      | 2 | true  | false | 2        | 1    |
      | 3 | false | true  | 2        | 1    |

  Scenario: any type of a relationship
    Given an empty graph
    And having executed:
      """
      CREATE (:A)-[:T]->(:B)
      """
    When executing query:
      """
      MATCH ()-[r:%]->(), ()-[s:!%]->() RETURN r
      """
    Then the result should be empty

  Scenario: property keys are those of the data, too
    Given an empty graph
    And having executed:
      """
      CREATE (:A {zeta: 1})-[:T {alpha: 1}]->(:B {zeta: null})
      """
    When executing query:
      """
      CALL db.propertyKeys() YIELD propertyKey AS key WHERE key IN ['alpha', 'zeta'] RETURN key
      """
    Then the result should be, in order:
      | key     |
      | 'alpha' |
      | 'zeta'  |

  Scenario: coordinates of a vector are of its type
    Given an empty graph
    When executing query:
      """
      RETURN vector([1, 2.5], 2, 'FLOAT') AS f, vector([1.9, -2.9], 2, INT8) AS i, vector([0.1], 1, 'FLOAT32')[0] = 0.1 AS same
      """
    Then the result should be, in any order:
      | f          | i       | same  |
      | [1.0, 2.5] | [1, -2] | false |

  Scenario Outline: what is no coordinate
    Given an empty graph
    When executing query:
      """
      RETURN vector(<of>) AS v
      """
    Then a ArgumentError should be raised at runtime: InvalidArgumentValue

    Examples:
      | of               |
      | [128], 1, 'INT8' |
      | [1], 1, 'NOPE'   |
      | [1], 2, 'FLOAT'  |

  Scenario: a relationship type is no label
    Given an empty graph
    And having executed:
      """
      CREATE ()-[:T]->()
      """
    When executing query:
      """
      MATCH (n:T) RETURN n
      """
    Then the result should be empty
