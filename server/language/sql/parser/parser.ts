import { DatabaseError } from '#core/errors.ts';
import type { NumberLimits } from '#core/value/number-text.ts';
import type { Value } from '#core/value/value.ts';
import type { ParseLimits } from '../../frontend.ts';
import { closestWord } from '../../suggestion.ts';
import { quoteForMessage, syntaxError } from '../../syntax-error.ts';
import { checkText } from '../../statement-text.ts';
import type { Expression } from '../ast.ts';
import { isReserved, type Keyword, startsClause } from '../keywords.ts';
import { emptyToken, Lexer, type Token, type TokenKind } from '../lexer.ts';
import { type Decoded, decodeNumber, decodeQuotedName, decodeString } from '../literals.ts';
import type { Statement } from '../statements.ts';

/** The mutually recursive heart of the grammar, handed in so that files of statement families do not import each other. */
export interface Grammar {
  expression(parser: Parser): Expression;
  condition(parser: Parser): Expression;
  /** The rest of an expression whose first operand stands already. */
  expressionAfter(parser: Parser, first: Expression): Expression;
  statement(parser: Parser): Statement;
  /** As `statement`, and what only scripts may hold. */
  scriptStatement(parser: Parser): Statement;
  /** True when the current token starts a statement that may stand in parentheses. */
  startsStatement(parser: Parser): boolean;
}

/** What could have stood at an offset; collected only while a failed parse is repeated for its error message. */
export type Expectations = Map<number, Set<string>>;

/**
 * A word or sign becomes several objects on its way to an operator, some 500 bytes; a text that is nothing else would fill a
 * small heap. Literals are left out of the count: lists and maps of them are one value.
 */
const bytesPerToken = 12;

/** Tokens that are looked at beyond the current one. */
const lookaheadMax = 4;

/**
 * The cursor of the recursive-descent parser: the current token, a few ahead, and the rules about names. The grammar needs no
 * backtracking, so the current token is always the first that may not continue the statement.
 */
export class Parser {
  readonly text: string;
  readonly grammar: Grammar;
  readonly depthMax: number;
  /** End of the token before the current one. */
  lastEnd = 0;
  /** Number of `?` seen. */
  positionalCount = 0;
  /** Tokens taken so far, without those of literals that became one value. */
  tokenCount = 0;
  /** Nodes of the pattern that is read. */
  patternNodeCount = 0;
  /** False while a list of literals is read, which becomes one value. */
  countsTokens = true;
  readonly #tokenCountMax: number;
  readonly #numbers: NumberLimits | undefined;
  readonly #lexer: Lexer;
  readonly #tokens: Token[];
  #first = 0;
  #readCount = 0;
  /** Where the token before the current one starts, if it is a word and no keyword; else -1. */
  #lastWordStart = -1;
  #depth = 0;
  readonly #expectations: Expectations | undefined;

  constructor(text: string, limits: ParseLimits, grammar: Grammar, expectations?: Expectations) {
    this.text = text;
    this.grammar = grammar;
    this.depthMax = limits.expressionDepthMax;
    this.#numbers = limits.numbers;
    const tokenCountMax = Math.floor(limits.statementBytesMax / bytesPerToken);
    this.#tokenCountMax = Math.max(10_000, tokenCountMax);
    this.#expectations = expectations;
    this.#lexer = new Lexer(text);
    this.#tokens = [emptyToken(), emptyToken(), emptyToken(), emptyToken()];
    this.#readCount = 1;
    this.#lexer.read(this.token);
  }

  get token(): Token {
    return this.#tokens[this.#first] as Token;
  }

  get kind(): TokenKind {
    return (this.#tokens[this.#first] as Token).kind;
  }

  get keyword(): Keyword | undefined {
    return (this.#tokens[this.#first] as Token).keyword;
  }

  /** Offset of the current token. */
  get start(): number {
    return (this.#tokens[this.#first] as Token).start;
  }

  /** The token `distance` places after the current one; at most three. */
  peek(distance: number): Token {
    while (this.#readCount <= distance) {
      this.#lexer.read(this.#tokens[(this.#first + this.#readCount) % lookaheadMax] as Token);
      this.#readCount += 1;
    }
    return this.#tokens[(this.#first + distance) % lookaheadMax] as Token;
  }

  advance(): void {
    const token = this.token;
    if (token.kind === 'invalid') this.unexpected();
    this.lastEnd = token.end;
    if (this.countsTokens) {
      this.tokenCount += 1;
      if (this.tokenCount > this.#tokenCountMax) this.#refuseTokens();
    }
    const isPlainWord = token.kind === 'word' && token.keyword === undefined;
    this.#lastWordStart = isPlainWord ? token.start : -1;
    if (this.#readCount > 1) {
      this.#first = (this.#first + 1) % lookaheadMax;
      this.#readCount -= 1;
    } else {
      this.#lexer.read(token);
    }
  }

  /** What was read since `count` has become one literal value and costs no more than one token. */
  forgetTokensSince(count: number): void {
    this.tokenCount = count + 1;
  }

  #refuseTokens(): never {
    throw new DatabaseError(
      'TooLarge',
      `statement has more than ${this.#tokenCountMax} words and signs outside literals, one for each ${bytesPerToken} bytes of service.sql.maxStatementSize`,
    );
  }

  /** Source of the current token. */
  source(): string {
    const token = this.token;
    return this.text.slice(token.start, token.end);
  }

  /**
   * Takes the source up to the next blank, comma, bracket or `;` as one word, for names that are written without back-ticks
   * although they are none (`indexvalues:my-index`). `shape` is a sticky expression.
   */
  rawWord(shape: RegExp): string {
    const { start } = this;
    shape.lastIndex = start;
    const [word = ''] = shape.exec(this.text) ?? [];
    if (word === '') return this.unexpected('a name');
    this.rewind(start + word.length);
    this.lastEnd = start + word.length;
    return word;
  }

  /** Goes back to a token that starts at `offset`. */
  rewind(offset: number): void {
    this.#lexer.moveTo(offset);
    this.#readCount = 1;
    this.#lexer.read(this.token);
  }

  // --- kinds and keywords

  at(kind: TokenKind): boolean {
    return this.kind === kind;
  }

  accept(kind: TokenKind): boolean {
    if (this.kind === kind) {
      this.advance();
      return true;
    }
    if (this.#expectations !== undefined) this.#expect(`'${kind}'`);
    return false;
  }

  expect(kind: TokenKind): void {
    if (!this.accept(kind)) this.unexpected();
  }

  atKeyword(keyword: Keyword): boolean {
    return this.keyword === keyword;
  }

  peekKeyword(distance: number, keyword: Keyword): boolean {
    return this.peek(distance).keyword === keyword;
  }

  acceptKeyword(keyword: Keyword): boolean {
    if (this.keyword === keyword) {
      this.advance();
      return true;
    }
    if (this.#expectations !== undefined) this.#expect(keyword);
    return false;
  }

  expectKeyword(...keywords: readonly Keyword[]): void {
    for (const keyword of keywords) if (!this.acceptKeyword(keyword)) this.unexpected();
  }

  /** A phrase that its first keyword alone makes certain: the others must follow. */
  acceptPhrase(first: Keyword, ...rest: readonly Keyword[]): boolean {
    if (!this.acceptKeyword(first)) return false;
    this.expectKeyword(...rest);
    return true;
  }

  /** Two keywords in a row or neither of them. */
  acceptKeywords(first: Keyword, second: Keyword): boolean {
    if (this.keyword === first && this.peek(1).keyword === second) {
      this.advance();
      this.advance();
      return true;
    }
    if (this.#expectations !== undefined) this.#expect(`${first} ${second}`);
    return false;
  }

  // --- names

  /** True when the current token can be read as a name: any word but the reserved ones, or a quoted name or attribute. */
  atName(): boolean {
    return isName(this.token);
  }

  /** A name in a place where nothing else may stand. */
  name(what = 'a name'): string {
    if (!this.atName()) return this.unexpected(what);
    return this.takeName();
  }

  /** After a dot, in SET, in column lists and in DDL the word FROM is a name, too (sql.md 3.2.4). */
  propertyName(what = 'a property name'): string {
    if (this.keyword !== 'FROM' && !this.atName()) return this.unexpected(what);
    return this.takeName();
  }

  takeName(): string {
    const source = this.source();
    const name =
      this.kind === 'quoted'
        ? this.decoded(decodeQuotedName(source))
        : this.kind === 'attribute'
          ? source.toLowerCase()
          : source;
    this.advance();
    return name;
  }

  /** `[AS] name`, as far as the word may be an alias without AS (sql.md 3.2.3). */
  alias(): string | undefined {
    if (this.acceptKeyword('AS')) return this.name('an alias');
    const { kind, keyword } = this.token;
    if (kind === 'quoted') return this.takeName();
    if (kind !== 'word') return undefined;
    if (keyword !== undefined && (isReserved(keyword) || startsClause(keyword))) return undefined;
    return this.takeName();
  }

  nameList(): string[] {
    const names = [this.name()];
    while (this.accept(',')) names.push(this.name());
    return names;
  }

  // --- literals

  stringLiteral(what = 'a string'): string {
    if (this.kind !== 'string') return this.unexpected(what);
    const value = this.decoded(decodeString(this.source()));
    this.advance();
    return value;
  }

  numberLiteral(isNegative: boolean): Value {
    const value = this.decoded(decodeNumber(this.source(), isNegative, this.#numbers));
    this.advance();
    return value;
  }

  /** An unsigned integer literal, for counts in DDL and TIMEOUT. */
  integer(what = 'an integer'): number {
    if (this.kind !== 'number') return this.unexpected(what);
    const start = this.start;
    const value = this.decoded(decodeNumber(this.source(), false, this.#numbers));
    if (typeof value !== 'number' || !Number.isSafeInteger(value))
      return this.fail(start, `${quoteForMessage(this.source())} is not an integer`);
    this.advance();
    return value;
  }

  decoded<T>(result: Decoded<T>): T {
    if ('fault' in result) return this.fail(this.start, result.fault);
    return result.value;
  }

  // --- nesting

  /** Enters one level of nesting; the caller leaves it again with `leave`. */
  enter(): void {
    this.requireDepth(this.#depth + 1);
    this.#depth += 1;
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** Refuses `extra` levels more than there are now. */
  requireRoom(extra: number): void {
    this.requireDepth(this.#depth + extra);
  }

  requireDepth(depth: number): void {
    if (depth <= this.depthMax) return;
    this.fail(
      this.start,
      `Expression nesting exceeds the maximum allowed depth of ${this.depthMax} (service.sql.maxExpressionDepth)`,
    );
  }

  // --- errors

  /** The current token cannot continue the statement; `expected` says what could, beside the words that were tried. */
  unexpected(expected?: string): never {
    if (this.#expectations !== undefined && expected !== undefined) this.#expect(expected);
    const token = this.token;
    const clauseAt = this.#clauseTakenForName();
    if (clauseAt !== undefined) {
      const word = this.text.slice(clauseAt, clauseAt + 5);
      throw syntaxError({
        text: this.text,
        offset: clauseAt,
        problem: `unexpected ${quoteForMessage(word)}`,
        expected: ['an expression'],
      });
    }
    const problem =
      token.kind === 'end'
        ? 'unexpected end of text'
        : token.kind === 'invalid'
          ? token.fault
          : `unexpected ${quoteForMessage(this.source())}`;
    const tried = [...(this.#expectations?.get(token.start) ?? [])];
    throw syntaxError({
      text: this.text,
      offset: token.start,
      problem,
      expected: token.kind === 'invalid' ? [] : tried,
      suggestion: this.#suggestion(tried),
    });
  }

  /** A fault that is not about which token may come next. @param suggestion what was probably meant */
  fail(offset: number, problem: string, suggestion?: string): never {
    throw syntaxError({ text: this.text, offset, problem, suggestion });
  }

  /** ORDER and GROUP are names, too: where BY follows one that was taken so, the fault stands before it. */
  #clauseTakenForName(): number | undefined {
    const { token } = this;
    if (token.kind !== 'word' || token.keyword !== 'BY') return undefined;
    return /\b(?:order|group)(?=\s+$)/iu.exec(this.text.slice(0, token.start))?.index;
  }

  /** The keyword that the current word, or the one before it that was taken as an alias, was meant to be. */
  #suggestion(tried: readonly string[]): string | undefined {
    const token = this.token;
    if (token.kind === 'word' && token.keyword === undefined) {
      const words = tried.filter((word) => /^[A-Z]/.test(word)).map((word) => word.split(' ')[0]);
      const hidden = tried.includes(comparison) ? comparisonWords : [];
      const found = closestWord(this.source(), [...words, ...hidden] as string[]);
      if (found !== undefined) return found;
    }
    if (this.#lastWordStart < 0) return undefined;
    const lastWord = this.text.slice(this.#lastWordStart, this.lastEnd).slice(0, 40);
    return closestWord(lastWord, swallowedWords);
  }

  #expect(what: string): void {
    const known = this.#expectations?.get(this.start);
    if (known) known.add(what);
    else this.#expectations?.set(this.start, new Set([what]));
  }
}

/** What is expected behind the left side of a condition, and the words that stand for it. */
export const comparison = 'a comparison';
const comparisonWords: readonly Keyword[] = [
  'LIKE',
  'ILIKE',
  'IN',
  'NOT',
  'IS',
  'BETWEEN',
  'MATCHES',
  'INSTANCEOF',
  'CONTAINS',
  'CONTAINSALL',
  'CONTAINSANY',
  'CONTAINSKEY',
  'CONTAINSVALUE',
  'CONTAINSTEXT',
];

/** Words whose misspelling is easily read as an alias or as a property. */
const swallowedWords: readonly Keyword[] = [
  'SELECT',
  'INSERT',
  'UPDATE',
  'DELETE',
  'TRAVERSE',
  'FROM',
  'WHERE',
  'LIMIT',
  'ORDER',
  'GROUP',
  'SKIP',
  'OFFSET',
  'UNWIND',
  'TIMEOUT',
  'LET',
  'SET',
  'VALUES',
  'CONTENT',
  'RETURN',
  'UPSERT',
  'REMOVE',
  'MERGE',
  'STRATEGY',
];

/** True for tokens that may be read as a name. */
export function isName(token: Token): boolean {
  return (
    token.kind === 'quoted' ||
    token.kind === 'attribute' ||
    (token.kind === 'word' && (token.keyword === undefined || !isReserved(token.keyword)))
  );
}

/**
 * Runs `parse`; when it fails, runs it once more and collects what could have stood at the fault, so that a parse that
 * succeeds pays nothing for good messages.
 */
export function parseWith<T>(
  text: string,
  limits: ParseLimits,
  grammar: Grammar,
  parse: (parser: Parser) => T,
): T {
  checkText(text, limits);
  try {
    return parse(new Parser(text, limits, grammar));
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'Syntax') throw error;
    return parse(new Parser(text, limits, grammar, new Map()));
  }
}
