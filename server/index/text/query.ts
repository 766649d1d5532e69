import { DatabaseError } from '#core/errors.ts';
import type { TextSettings } from './text-keys.ts';

/**
 * Queries of full-text search (sql.md 13.10): words, `+must -not`, AND OR NOT, parentheses, "all of these words", pre*, d?t,
 * fuzzy~1, field:word, word^2. OR binds weaker than AND, AND weaker than words side by side, which the default operator joins.
 */
export type TextQuery =
  | {
      readonly kind: 'word';
      readonly field: string | undefined;
      readonly text: string;
      readonly boost: number;
    }
  /** All of its words, in any order. */
  | {
      readonly kind: 'phrase';
      readonly field: string | undefined;
      readonly text: string;
      readonly boost: number;
    }
  /** `*` is any run of characters, `?` one. */
  | {
      readonly kind: 'wildcard';
      readonly field: string | undefined;
      readonly pattern: readonly PatternPart[];
      readonly boost: number;
    }
  | {
      readonly kind: 'fuzzy';
      readonly field: string | undefined;
      readonly text: string;
      readonly distance: number;
      readonly boost: number;
    }
  /** Each of `must`; when there is none one of `should`; none of `not`. */
  | {
      readonly kind: 'group';
      readonly must: readonly TextQuery[];
      readonly should: readonly TextQuery[];
      readonly not: readonly TextQuery[];
      readonly boost: number;
    };

/** Text as it is, or a wildcard. */
export type PatternPart = string | { readonly any: 'one' | 'run' };

export interface QueryLimits {
  /** Words and groups of a query. */
  readonly clauseCountMax: number;
  readonly depthMax: number;
}

export const defaultQueryLimits: QueryLimits = { clauseCountMax: 1_024, depthMax: 200 };
const queryLengthMax = 65_536;
const distanceMax = 2;

/** @throws DatabaseError `IllegalArgument` for a blank query and one that cannot be read */
export function parseTextQuery(
  text: string,
  settings: Pick<TextSettings, 'fields' | 'defaultOperator' | 'allowsLeadingWildcard'>,
  indexName: string,
  limits: QueryLimits = defaultQueryLimits,
): TextQuery {
  if (text.trim() === '') throw fault('the query is empty');
  if (text.length > queryLengthMax)
    throw fault(`the query has ${text.length} characters; at most ${queryLengthMax} are read`);
  return new QueryParser(text, settings, indexName, limits).whole();
}

function fault(problem: string): DatabaseError {
  return new DatabaseError('IllegalArgument', `full-text query: ${problem}`);
}

interface Clause {
  readonly query: TextQuery;
  readonly occur: 'must' | 'not' | 'default';
}

const special = /[\s()"+!:^~*?]/u;

class QueryParser {
  readonly #text: string;
  readonly #settings: Pick<TextSettings, 'fields' | 'defaultOperator' | 'allowsLeadingWildcard'>;
  readonly #indexName: string;
  readonly #limits: QueryLimits;
  #at = 0;
  #clauseCount = 0;
  #depth = 0;

  constructor(
    text: string,
    settings: Pick<TextSettings, 'fields' | 'defaultOperator' | 'allowsLeadingWildcard'>,
    indexName: string,
    limits: QueryLimits,
  ) {
    this.#text = text;
    this.#settings = settings;
    this.#indexName = indexName;
    this.#limits = limits;
  }

  whole(): TextQuery {
    const query = this.#or(undefined);
    if (this.#at < this.#text.length) throw fault(`')' without '(' at ${this.#at}`);
    return query;
  }

  #or(field: string | undefined): TextQuery {
    const operands = [this.#and(field)];
    while (this.#operator('OR', '||')) operands.push(this.#and(field));
    if (operands.length === 1) return operands[0] as TextQuery;
    return { kind: 'group', must: [], should: operands, not: [], boost: 1 };
  }

  #and(field: string | undefined): TextQuery {
    const operands = [this.#juxtaposed(field)];
    while (this.#operator('AND', '&&')) operands.push(this.#juxtaposed(field));
    if (operands.length === 1) return operands[0] as TextQuery;
    const must: TextQuery[] = [];
    const not: TextQuery[] = [];
    for (const operand of operands) {
      // `a AND NOT b`, which says what is not wanted of a.
      if (operand.kind === 'group' && operand.must.length + operand.should.length === 0)
        not.push(...operand.not);
      else must.push(operand);
    }
    return { kind: 'group', must, should: [], not, boost: 1 };
  }

  /** Words side by side. */
  #juxtaposed(field: string | undefined): TextQuery {
    const clauses: Clause[] = [];
    for (let clause = this.#clause(field); clause !== undefined; clause = this.#clause(field))
      clauses.push(clause);
    const [only] = clauses;
    if (only === undefined) throw fault(this.#expectation());
    if (clauses.length === 1 && only.occur !== 'not') return only.query;
    const isAnd = this.#settings.defaultOperator === 'AND';
    const of = (occur: Clause['occur']) =>
      clauses.filter((clause) => clause.occur === occur).map(({ query }) => query);
    const plain = of('default');
    return {
      kind: 'group',
      must: isAnd
        ? clauses.filter(({ occur }) => occur !== 'not').map(({ query }) => query)
        : of('must'),
      should: isAnd ? [] : plain,
      not: of('not'),
      boost: 1,
    };
  }

  #expectation(): string {
    const rest = this.#text.slice(this.#at, this.#at + 20);
    return rest === ''
      ? 'a word is missing at the end'
      : `a word is missing before '${rest}' at ${this.#at}`;
  }

  #clause(field: string | undefined): Clause | undefined {
    this.#skipBlanks();
    if (this.#at >= this.#text.length || this.#text[this.#at] === ')') return undefined;
    if (this.#isOperatorAhead('OR', '||') || this.#isOperatorAhead('AND', '&&')) return undefined;
    let occur: Clause['occur'] = 'default';
    if (this.#operator('NOT', '!') || this.#take('-')) occur = 'not';
    else if (this.#take('+')) occur = 'must';
    const query = this.#primary(field);
    if (query === undefined) throw fault(this.#expectation());
    return { query, occur };
  }

  #primary(field: string | undefined): TextQuery | undefined {
    this.#clauseCount += 1;
    if (this.#clauseCount > this.#limits.clauseCountMax)
      throw fault(`it has more than ${this.#limits.clauseCountMax} words (fullText.maxClauses)`);
    const next = this.#text[this.#at];
    if (next === undefined || /[\s)]/u.test(next)) return undefined;
    if (next === '(') return this.#parenthesized(field);
    if (next === '"') return this.#phrase(field);
    return this.#word(field);
  }

  #parenthesized(field: string | undefined): TextQuery {
    this.#depth += 1;
    if (this.#depth > this.#limits.depthMax)
      throw fault(
        `parentheses are nested deeper than ${this.#limits.depthMax} (sql.maxExpressionDepth)`,
      );
    this.#at += 1;
    const inner = this.#or(field);
    this.#skipBlanks();
    if (!this.#take(')')) throw fault("')' is missing");
    this.#depth -= 1;
    const boost = this.#boost();
    return boost === 1 ? inner : { kind: 'group', must: [inner], should: [], not: [], boost };
  }

  #phrase(field: string | undefined): TextQuery {
    let text = '';
    let at = this.#at + 1;
    for (; at < this.#text.length && this.#text[at] !== '"'; at += 1) {
      if (this.#text[at] === '\\' && at + 1 < this.#text.length) at += 1;
      text += this.#text[at];
    }
    if (at >= this.#text.length) throw fault(`the quote at ${this.#at} is not closed`);
    this.#at = at + 1;
    // Words of a phrase may stand in any order and distance, so how near they are says nothing.
    if (this.#take('~')) this.#number();
    return { kind: 'phrase', field, text, boost: this.#boost() };
  }

  #word(field: string | undefined): TextQuery | undefined {
    const start = this.#at;
    const parts: PatternPart[] = [];
    let text = '';
    for (; this.#at < this.#text.length; this.#at += 1) {
      const char = this.#text[this.#at] as string;
      if (char === '\\') {
        this.#at += 1;
        if (this.#at >= this.#text.length) throw fault('nothing stands behind the last \\');
        text += this.#text[this.#at];
        continue;
      }
      if (char === '*' || char === '?') {
        if (text !== '') parts.push(text);
        text = '';
        parts.push({ any: char === '*' ? 'run' : 'one' });
        continue;
      }
      if (char === ':' && parts.length === 0 && text !== '' && this.#isField(text)) {
        this.#at += 1;
        return this.#ofField(text);
      }
      if (special.test(char) && char !== '!' && char !== '+' && char !== ':') break;
      text += char;
    }
    if (text !== '') parts.push(text);
    if (parts.length === 0)
      throw fault(`a word is missing before '${this.#text.slice(start, start + 20)}' at ${start}`);
    return this.#withModifiers(field, parts);
  }

  #withModifiers(field: string | undefined, parts: readonly PatternPart[]): TextQuery {
    const [first] = parts;
    if (parts.length > 1 || typeof first !== 'string') {
      if (typeof first !== 'string' && !this.#settings.allowsLeadingWildcard)
        throw fault(
          "a word may not begin with '*' or '?' unless the index has METADATA {allowLeadingWildcard: true}",
        );
      return { kind: 'wildcard', field, pattern: parts, boost: this.#boost() };
    }
    if (!this.#take('~')) return { kind: 'word', field, text: first, boost: this.#boost() };
    const distance = this.#number() ?? distanceMax;
    if (!Number.isInteger(distance) || distance > distanceMax)
      throw fault(
        `the distance of '${first.slice(0, 40)}~' must be 0, 1 or ${distanceMax}, not ${distance}`,
      );
    return { kind: 'fuzzy', field, text: first, distance, boost: this.#boost() };
  }

  #isField(name: string): boolean {
    if (this.#settings.fields.some((field) => field.name === name)) return true;
    if (!/^[\p{L}_][\p{L}\p{N}_.]*$/u.test(name)) return false;
    const names = this.#settings.fields.map((field) => field.name).join(', ');
    throw fault(
      `'${name.slice(0, 60)}' is no field of index '${this.#indexName}'; it has ${names}`,
    );
  }

  #ofField(field: string): TextQuery {
    const query = this.#primary(field);
    if (query === undefined) throw fault(`a word is missing behind '${field}:'`);
    return query;
  }

  #boost(): number {
    if (!this.#take('^')) return 1;
    const boost = this.#number();
    if (boost === undefined) throw fault(`a number is missing behind '^' at ${this.#at}`);
    return boost;
  }

  #number(): number | undefined {
    const found = /^\d{1,9}(?:\.\d{1,9})?/u.exec(this.#text.slice(this.#at, this.#at + 20));
    if (found === null) return undefined;
    this.#at += found[0].length;
    return Number(found[0]);
  }

  #isOperatorAhead(word: string, sign: string): boolean {
    if (this.#text.startsWith(sign, this.#at)) return true;
    if (!this.#text.startsWith(word, this.#at)) return false;
    const next = this.#text[this.#at + word.length];
    return next === undefined || /[\s()"]/u.test(next);
  }

  #operator(word: string, sign: string): boolean {
    this.#skipBlanks();
    if (!this.#isOperatorAhead(word, sign)) return false;
    this.#at += this.#text.startsWith(sign, this.#at) ? sign.length : word.length;
    this.#skipBlanks();
    return true;
  }

  #take(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #skipBlanks(): void {
    while (this.#at < this.#text.length && /\s/u.test(this.#text[this.#at] as string))
      this.#at += 1;
  }
}
