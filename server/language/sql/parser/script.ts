import { closestWord } from '../../suggestion.ts';
import type { Located } from '../ast.ts';
import type { ScriptStatement, Statement } from '../statements.ts';
import type { Parser } from './parser.ts';
import { expressionOrStatement, letItems, variableName } from './select.ts';

/**
 * Statements of SQLScript (sql.md 17.1). Loops, BREAK and bare function calls are for scripts only; the caller says which
 * grammar it wants by calling `script` or `singleStatement` (statement.ts).
 */

export function letStatement(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('LET');
  return { kind: 'let', items: letItems(parser), ...span(parser, at) };
}

/** SET GLOBAL. */
export function setGlobal(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('SET', 'GLOBAL');
  const name = variableName(parser);
  parser.expect('=');
  return { kind: 'setGlobal', name, value: expressionOrStatement(parser), ...span(parser, at) };
}

export function returnStatement(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('RETURN');
  const isBare = parser.at('end') || parser.at(';') || parser.at('}');
  const value = isBare ? undefined : expressionOrStatement(parser);
  return { kind: 'return', value, ...span(parser, at) };
}

export function ifStatement(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('IF');
  const condition = conditionInParentheses(parser);
  const then = block(parser);
  const otherwise = parser.acceptKeyword('ELSE') ? block(parser) : [];
  return { kind: 'if', condition, then, otherwise, ...span(parser, at) };
}

export function whileStatement(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('WHILE');
  const condition = conditionInParentheses(parser);
  return { kind: 'while', condition, body: block(parser), ...span(parser, at) };
}

export function forEach(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('FOREACH');
  parser.expect('(');
  const variable = variableName(parser);
  parser.expectKeyword('IN');
  const list = expressionOrStatement(parser);
  parser.expect(')');
  return { kind: 'forEach', variable, list, body: block(parser), ...span(parser, at) };
}

export function begin(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('BEGIN');
  let isolation: 'READ_COMMITTED' | 'REPEATABLE_READ' | undefined;
  if (parser.acceptKeyword('ISOLATION')) {
    const word = parser.source().toUpperCase();
    if (word !== 'READ_COMMITTED' && word !== 'REPEATABLE_READ')
      return parser.unexpected('READ_COMMITTED or REPEATABLE_READ');
    isolation = word;
    parser.advance();
  }
  return { kind: 'begin', isolation, ...span(parser, at) };
}

export function commit(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('COMMIT');
  let retry: number | undefined;
  let otherwise: readonly Statement[] = [];
  let afterFailure: 'fail' | 'continue' = 'fail';
  if (parser.acceptKeyword('RETRY')) {
    const retryAt = parser.start;
    const isNegative = parser.accept('-');
    retry = parser.integer() * (isNegative ? -1 : 1);
    if (retry <= 0) parser.fail(retryAt, `Invalid retry number ${retry}`);
    if (parser.acceptKeyword('ELSE')) {
      const hasBlock = parser.at('{');
      if (hasBlock) otherwise = block(parser);
      const goesOn = hasBlock ? parser.acceptKeyword('AND') : true;
      if (goesOn && parser.acceptKeyword('CONTINUE')) afterFailure = 'continue';
      else if (goesOn) parser.expectKeyword('FAIL');
    }
  }
  return { kind: 'commit', retry, otherwise, afterFailure, ...span(parser, at) };
}

export function lock(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('LOCK');
  const what = parser.acceptKeyword('TYPE') ? 'type' : 'bucket';
  if (what === 'bucket') parser.expectKeyword('BUCKET');
  return { kind: 'lock', what, names: parser.nameList(), ...span(parser, at) };
}

export function sleep(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('SLEEP');
  return { kind: 'sleep', ms: parser.grammar.expression(parser), ...span(parser, at) };
}

export function consoleStatement(parser: Parser): ScriptStatement {
  const at = parser.start;
  parser.expectKeyword('CONSOLE');
  parser.expect('.');
  const levelAt = parser.start;
  const level = parser.propertyName('a level').toLowerCase();
  if (!consoleLevels.has(level))
    parser.fail(
      levelAt,
      `Unsupported log level: ${level}`,
      closestWord(level, consoleLevels.keys()),
    );
  return {
    kind: 'console',
    level,
    message: parser.grammar.expression(parser),
    ...span(parser, at),
  };
}

const consoleLevels: ReadonlySet<string> = new Set(['log', 'output', 'error', 'warn', 'debug']);

/** BREAK and ROLLBACK. */
export function bareWord(parser: Parser, kind: 'break' | 'rollback'): ScriptStatement {
  const at = parser.start;
  parser.advance();
  return { kind, ...span(parser, at) };
}

/** A bare function call. */
export function callStatement(parser: Parser): ScriptStatement {
  const at = parser.start;
  const call = parser.grammar.expression(parser);
  if (call.kind !== 'call' && call.kind !== 'method') parser.fail(at, 'expected a statement');
  return { kind: 'callStatement', call, ...span(parser, at) };
}

function block(parser: Parser): readonly Statement[] {
  parser.expect('{');
  parser.enter();
  const statements = statementsUntil(parser, '}');
  parser.leave();
  parser.expect('}');
  return statements;
}

/** Statements with optional `;` between them, up to `close`, which is not consumed. */
export function statementsUntil(parser: Parser, close: '}' | 'end'): readonly Statement[] {
  const statements: Statement[] = [];
  for (;;) {
    while (parser.accept(';')) {
      // Empty statements between separators mean nothing.
    }
    if (parser.at(close)) return statements;
    statements.push(parser.grammar.scriptStatement(parser));
  }
}

function conditionInParentheses(parser: Parser) {
  parser.expect('(');
  parser.enter();
  const condition = parser.grammar.condition(parser);
  parser.leave();
  parser.expect(')');
  return condition;
}

function span(parser: Parser, at: number): Located {
  return { at, end: parser.lastEnd };
}
