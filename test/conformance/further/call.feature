Feature: procedures

  Scenario: a procedure without arguments and columns, alone
    Given an empty graph
    And there exists a procedure test.doNothing() :: ():
      |
    When executing query:
      """
      CALL test.doNothing()
      """
    Then the result should be empty
    And no side effects

  Scenario: a procedure without arguments and columns, alone and without brackets
    Given an empty graph
    And there exists a procedure test.doNothing() :: ():
      |
    When executing query:
      """
      CALL test.doNothing
      """
    Then the result should be empty
    And no side effects

  Scenario: a procedure without columns passes the rows on
    Given an empty graph
    And having executed:
      """
      CREATE ({k: 1}), ({k: 2})
      """
    And there exists a procedure test.doNothing() :: ():
      |
    When executing query:
      """
      MATCH (n)
      CALL test.doNothing()
      RETURN n.k AS k
      """
    Then the result should be, in any order:
      | k |
      | 1 |
      | 2 |
    And no side effects

  Scenario: a procedure that gives nothing is a MATCH without a match
    Given an empty graph
    And there exists a procedure test.none() :: (x :: INTEGER?):
      | x |
    When executing query:
      """
      UNWIND [1, 2] AS k
      CALL test.none() YIELD x
      RETURN k, x
      """
    Then the result should be empty
    And no side effects

  Scenario: columns without YIELD in a query are not bound
    Given an empty graph
    And there exists a procedure test.labels() :: (label :: STRING?):
      | label |
      | 'A'   |
    When executing query:
      """
      CALL test.labels()
      RETURN label
      """
    Then a SyntaxError should be raised at compile time: UndefinedVariable

  Scenario: more arguments than there are
    Given an empty graph
    And there exists a procedure test.my.proc(in :: INTEGER?) :: (out :: INTEGER?):
      | in | out |
    When executing query:
      """
      CALL test.my.proc(1, 2)
      """
    Then a SyntaxError should be raised at compile time: InvalidNumberOfArguments

  Scenario: fewer arguments than there are, in a query
    Given an empty graph
    And there exists a procedure test.my.proc(name :: STRING?, in :: INTEGER?) :: (out :: INTEGER?):
      | name | in | out |
    When executing query:
      """
      CALL test.my.proc('Dobby') YIELD out
      RETURN out
      """
    Then a SyntaxError should be raised at compile time: InvalidNumberOfArguments

  Scenario: brackets are no implicit arguments
    Given an empty graph
    And there exists a procedure test.my.proc(name :: STRING?, in :: INTEGER?) :: (out :: INTEGER?):
      | name | in | out |
    And parameters are:
      | name | 'x' |
      | in   | 1   |
    When executing query:
      """
      CALL test.my.proc()
      """
    Then a SyntaxError should be raised at compile time: InvalidNumberOfArguments

  Scenario: an implicit argument without its parameter
    Given an empty graph
    And there exists a procedure test.my.proc(name :: STRING?, in :: INTEGER?) :: (out :: INTEGER?):
      | name | in | out |
    And parameters are:
      | name | 'x' |
    When executing query:
      """
      CALL test.my.proc
      """
    Then a ParameterMissing should be raised at compile time: MissingParameter

  Scenario: an argument that aggregates
    Given an empty graph
    And there exists a procedure test.labels(in :: INTEGER?) :: (label :: STRING?):
      | in | label |
    When executing query:
      """
      MATCH (n)
      CALL test.labels(count(n)) YIELD label
      RETURN label
      """
    Then a SyntaxError should be raised at compile time: InvalidAggregation

  Scenario Outline: an unknown procedure
    Given an empty graph
    When executing query:
      """
      <call>
      """
    Then a ProcedureError should be raised at compile time: ProcedureNotFound

    Examples:
      | call                                    |
      | CALL test.my.missing                    |
      | CALL test.my.missing()                  |
      | CALL test.my.missing() YIELD x RETURN x |

  Scenario Outline: numbers that fit
    Given an empty graph
    And there exists a procedure test.my.proc(in :: <type>) :: (out :: STRING?):
      | in      | out   |
      | <stored> | 'hit' |
    When executing query:
      """
      CALL test.my.proc(<given>) YIELD out
      RETURN out
      """
    Then the result should be, in any order:
      | out   |
      | 'hit' |
    And no side effects

    Examples:
      | type     | stored | given |
      | NUMBER?  | 42     | 42    |
      | NUMBER?  | 42.3   | 42.3  |
      | FLOAT?   | 42.0   | 42    |
      | INTEGER? | 42     | 42    |

  Scenario Outline: an argument of a wrong type
    Given an empty graph
    And there exists a procedure test.my.proc(in :: <type>) :: (out :: STRING?):
      | in | out |
    When executing query:
      """
      CALL test.my.proc(<given>)
      """
    Then a SyntaxError should be raised at compile time: InvalidArgumentType

    Examples:
      | type     | given |
      | INTEGER? | true  |
      | INTEGER? | 'x'   |
      | STRING?  | 1     |
      | FLOAT?   | 'x'   |
      | NUMBER?  | true  |

  Scenario: one call after another, each for every row
    Given an empty graph
    And there exists a procedure test.labels() :: (label :: STRING?):
      | label |
      | 'A'   |
      | 'B'   |
      | 'C'   |
    When executing query:
      """
      CALL test.labels() YIELD label
      WITH count(*) AS c
      CALL test.labels() YIELD label
      RETURN c, label
      """
    Then the result should be, in any order:
      | c | label |
      | 3 | 'A'   |
      | 3 | 'B'   |
      | 3 | 'C'   |
    And no side effects

  Scenario: a call with WHERE
    Given an empty graph
    And there exists a procedure test.labels() :: (label :: STRING?):
      | label |
      | 'A'   |
      | 'B'   |
    When executing query:
      """
      CALL test.labels() YIELD label AS l WHERE l > 'A'
      RETURN *
      """
    Then the result should be, in any order:
      | l   |
      | 'B' |
    And no side effects

  Scenario: a column that is bound already
    Given an empty graph
    And there exists a procedure test.labels() :: (label :: STRING?):
      | label |
      | 'A'   |
    When executing query:
      """
      WITH 'Hi' AS label
      CALL test.labels() YIELD label
      RETURN *
      """
    Then a SyntaxError should be raised at compile time: VariableAlreadyBound
