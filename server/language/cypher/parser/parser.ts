import { DatabaseError } from '#core/errors.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { NumberLimits } from '#core/value/number-text.ts';
import type { Value } from '#core/value/value.ts';
import type { ParseLimits } from '../../frontend.ts';
import { closestWord } from '../../suggestion.ts';
import { quoteForMessage } from '../../syntax-error.ts';
import type { Clause, Expression, PathPattern, Query } from '../ast.ts';
import { compileError } from '../failures.ts';
import { type TokenKind, Tokens } from '../lexer.ts';
import { type Loop, type LoopMemo, LoopSite } from './loops.ts';
import {
  type Decoded,
  decodeFloat,
  decodeInteger,
  decodeQuotedName,
  decodeString,
  decodeStringInSteps,
} from '../literals.ts';

/** The mutually recursive heart of the grammar, handed in so that files of clause families do not import each other. */
export interface Grammar {
  expression(parser: Parser): Expression;
  path(parser: Parser): PathPattern;
  query(parser: Parser): Query;
  clause(parser: Parser): Clause;
  /** A query of its own in a text inside the statement. */
  inner(parser: Parser, text: string): Query;
}

/** A word or sign becomes several objects on its way to an operator; literals that are one value count once. */
const bytesPerNode = 12;

/** Shorter ones are decoded at once. */
const longString = 65_536;
const strings = new LoopSite<{
  readonly work: PausingWork<Decoded<string>>;
  decoded: Decoded<string> | undefined;
}>();

/** The cursor of the recursive-descent parser, and the rules about names and literals. */
export class Parser {
  readonly text: string;
  readonly grammar: Grammar;
  readonly depthMax: number;
  readonly limits: ParseLimits;
  /** Words that could have stood at the current token: of them a misspelt one was meant. */
  readonly #wanted = new Set<string>();
  #wantedAt = -1;
  readonly #tokens: Tokens;
  readonly #numbers: NumberLimits | undefined;
  readonly #nodesMax: number;
  #index = 0;
  #depth = 0;
  #wordAt = -1;
  #word = '';
  #nodeCount = 0;
  readonly #memo: LoopMemo | undefined;
  /** Where the last pause was, and the words that had been looked for there. */
  #paused: { readonly index: number; readonly words: readonly string[] } | undefined;

  /** @param memo of a text that is read in steps */
  constructor(text: string, limits: ParseLimits, grammar: Grammar, memo?: LoopMemo) {
    this.text = text;
    this.grammar = grammar;
    this.depthMax = limits.expressionDepthMax;
    this.limits = limits;
    this.#numbers = limits.numbers;
    this.#nodesMax = Math.max(10_000, Math.floor(limits.statementBytesMax / bytesPerNode));
    this.#tokens = new Tokens(text, memo && ((token) => memo.interrupts(token)));
    this.#memo = memo;
  }

  // --- loops (loops.ts)

  /** Back to the beginning, after a pause. */
  restart(): void {
    const isWanted = this.#wantedAt === this.#index;
    this.#paused = { index: this.#index, words: isWanted ? [...this.#wanted] : [] };
    this.#index = 0;
    this.#depth = 0;
    this.#nodeCount = 0;
  }

  /** The loop of this site that begins here, if it was begun before a pause: the parser stands then where it goes on. */
  resumed<State>(site: LoopSite<State>): Loop<State> | undefined {
    const loop = this.#memo?.find(site, this.#index);
    if (loop === undefined) return undefined;
    this.#index = loop.index;
    this.#nodeCount = loop.nodeCount;
    return loop;
  }

  /** @param entry the token with which it began */
  opened<State>(site: LoopSite<State>, state: State, entry = this.#index): Loop<State> {
    const [index, nodeCount] = [this.#index, this.#nodeCount];
    return (
      this.#memo?.open(site, state, { entry, index, nodeCount }) ?? {
        site,
        state,
        index,
        nodeCount,
        outerCount: 0,
      }
    );
  }

  /** The loop has one item more, and the parser stands behind it: a place to pause. */
  took(loop: Loop<unknown>): void {
    this.#memo?.took(loop, this.#index, this.#nodeCount);
  }

  /** Items with commas between them. */
  separated<Item>(site: LoopSite<Item[]>, item: (parser: Parser) => Item): Item[] {
    const loop = this.resumed(site) ?? this.opened<Item[]>(site, []);
    const items = loop.state;
    while (items.length === 0 || this.accept(',')) {
      items.push(item(this));
      this.took(loop);
    }
    return items;
  }

  // --- tokens

  get kind(): TokenKind {
    return this.#tokens.kind(this.#index);
  }

  /** Offset of the current token. */
  get start(): number {
    return this.#tokens.start(this.#index);
  }

  /** End of the token before the current one. */
  get lastEnd(): number {
    return this.#index === 0 ? 0 : this.#tokens.end(this.#index - 1);
  }

  /** For going back with `moveTo`. */
  get index(): number {
    return this.#index;
  }

  moveTo(index: number): void {
    this.#index = index;
  }

  source(distance = 0): string {
    return this.#tokens.source(this.#index + distance);
  }

  peek(distance: number): TokenKind {
    return this.#tokens.kind(this.#index + distance);
  }

  advance(): void {
    if (this.kind === 'invalid') this.unexpected();
    this.#nodeCount += 1;
    if (this.#nodeCount > this.#nodesMax)
      throw new DatabaseError(
        'TooLarge',
        `statement has more than ${this.#nodesMax} words and signs outside literals, one for each ${bytesPerNode} bytes of service.sql.maxStatementSize`,
      );
    this.#index += 1;
  }

  get nodeCount(): number {
    return this.#nodeCount;
  }

  /** What was read since `count` has become one literal value and costs no more than one token. */
  forgetNodesSince(count: number): void {
    this.#nodeCount = count + 1;
  }

  at(kind: TokenKind): boolean {
    return this.kind === kind;
  }

  accept(kind: TokenKind): boolean {
    if (this.kind !== kind) return false;
    this.advance();
    return true;
  }

  expect(kind: TokenKind): void {
    if (!this.accept(kind)) this.unexpected(`'${kind}'`);
  }

  // --- words

  /** The word at `distance` in capitals; '' when there is none. */
  word(distance = 0): string {
    if (this.peek(distance) !== 'word') return '';
    const index = this.#index + distance;
    if (this.#wordAt !== index) {
      this.#wordAt = index;
      this.#word = this.#tokens.source(index).toUpperCase();
    }
    return this.#word;
  }

  /** A literal that nothing is done with: the next sign ends the expression. */
  atLoneLiteral(): boolean {
    const { kind } = this;
    if (kind !== 'integer' && kind !== 'float' && kind !== 'string') return false;
    const next = this.peek(1);
    return next === ',' || next === ']' || next === '}' || next === ')';
  }

  /** Whether the words stand here one after the other. */
  atWords(...words: readonly string[]): boolean {
    if (this.kind !== 'word') return false;
    this.#want(words[0] as string);
    return words.every((wanted, distance) => this.word(distance) === wanted);
  }

  acceptWords(...words: readonly string[]): boolean {
    if (!this.atWords(...words)) return false;
    for (let at = 0; at < words.length; at += 1) this.advance();
    return true;
  }

  expectWords(...words: readonly string[]): void {
    for (const word of words) if (!this.acceptWords(word)) this.unexpected(word);
  }

  #want(word: string): void {
    if (this.#wantedAt !== this.#index) {
      this.#wanted.clear();
      this.#wantedAt = this.#index;
    }
    this.#wanted.add(word);
  }

  atName(distance = 0): boolean {
    const kind = this.peek(distance);
    return kind === 'word' || kind === 'quoted';
  }

  /** A name, in back-ticks or not. */
  name(what = 'a name'): string {
    const { kind } = this;
    if (kind === 'word') {
      const name = this.source();
      this.advance();
      return name;
    }
    if (kind !== 'quoted') this.unexpected(what);
    const name = this.decoded(decodeQuotedName(this.source()));
    this.advance();
    return name;
  }

  /** `a.b.c` */
  dottedName(what: string): string {
    let name = this.name(what);
    while (this.at('.') && this.atName(1)) {
      this.advance();
      name += `.${this.name()}`;
    }
    return name;
  }

  parameterName(): string {
    const source = this.source().slice(1);
    const name = source.startsWith('`') ? source.slice(1, -1) : source;
    this.advance();
    return name;
  }

  // --- literals

  string(): string {
    if (!this.at('string')) this.unexpected('a string');
    const value = this.decoded(this.#decodedString());
    this.advance();
    return value;
  }

  #decodedString(): Decoded<string> {
    const memo = this.#memo;
    const length = this.#tokens.end(this.#index) - this.start;
    if (memo === undefined || length < longString) return decodeString(this.source());
    const known = this.resumed(strings);
    // To look for its end took a turn already.
    if (known === undefined)
      return memo.stays(
        this.opened(strings, { work: decodeStringInSteps(this.source()), decoded: undefined }),
      );
    const { state } = known;
    if (state.decoded === undefined) {
      const step = state.work.next();
      if (step.done !== true) return memo.stays(known);
      state.decoded = step.value;
    }
    return state.decoded;
  }

  number(isNegative: boolean): Value {
    const decode = this.kind === 'integer' ? decodeInteger : decodeFloat;
    const value = this.decoded(decode(this.source(), isNegative, this.#numbers));
    this.advance();
    return value;
  }

  /** An integer of at most `max`, as quantifiers have them. */
  count(max: number): number {
    if (!this.at('integer')) this.unexpected('a number');
    const at = this.start;
    const value = this.number(false);
    if (typeof value !== 'number' || value > max)
      throw this.fault(at, 'IntegerOverflow', `at most ${max}`);
    return value;
  }

  decoded<T>(decoded: Decoded<T>): T {
    if ('value' in decoded) return decoded.value;
    throw this.fault(this.start, decoded.detail, decoded.problem);
  }

  // --- depth and faults

  /** @throws DatabaseError `Syntax` when nesting is too deep (limits.md 8) */
  enter(): void {
    this.#depth += 1;
    if (this.#depth > this.depthMax)
      throw this.fault(
        this.start,
        'UnexpectedSyntax',
        `expressions are nested more than ${this.depthMax} deep (service.sql.maxExpressionDepth)`,
      );
  }

  leave(): void {
    this.#depth -= 1;
  }

  fault(at: number, detail: string, problem: string, suggestion?: string): DatabaseError {
    return compileError({ text: this.text, at, detail, problem, suggestion });
  }

  /** The current token may not stand here. */
  unexpected(expected?: string): never {
    const { kind, start } = this;
    if (kind === 'invalid') {
      const { detail, problem } = this.#tokens.fault(this.#index);
      throw this.fault(start, detail, problem);
    }
    const what = kind === 'end' ? 'end of statement' : quoteForMessage(this.source());
    const rest = expected === undefined ? '' : `, expected ${expected}`;
    const wanted = this.#wantedAt === this.#index ? [...this.#wanted] : [];
    if (this.#paused?.index === this.#index) wanted.push(...this.#paused.words);
    const suggestion = kind === 'word' ? closestWord(this.source(), wanted) : undefined;
    throw this.fault(start, 'UnexpectedSyntax', `unexpected ${what}${rest}`, suggestion);
  }
}
