import { type Keyword, keywordOf } from './keywords.ts';

/**
 * Splits a text into tokens on demand (sql.md section 3). Nothing is kept: a text of four megabytes costs no memory here.
 * Lexical faults become tokens of kind `invalid`, so that a fault behind the first syntax error is not reported before it.
 *
 * Signs stand alone where the grammar needs them so: the arrows of MATCH (`-E->`, `<--`) are put together by its parser,
 * and `:name` is a parameter only where an expression may begin.
 */

export type TokenKind =
  | 'end'
  | 'word'
  | 'quoted'
  | 'string'
  | 'number'
  | 'rid'
  | 'attribute'
  | 'positional'
  | 'invalid'
  | Punctuation;

export type Punctuation =
  | '('
  | ')'
  | '['
  | ']'
  | '{'
  | '}'
  | ','
  | ';'
  | ':'
  | '.'
  | '..'
  | '...'
  | '?'
  | '??'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '&'
  | '|'
  | '||'
  | '^'
  | '!'
  | '='
  | '=='
  | '!='
  | '<>'
  | '<'
  | '<='
  | '>'
  | '>='
  | '<=>'
  | '<<'
  | '>>'
  | '>>>'
  | '+='
  | '-='
  | '*='
  | '/=';

export interface Token {
  kind: TokenKind;
  start: number;
  end: number;
  /** Of words only. */
  keyword: Keyword | undefined;
  /** Of kind `invalid`: what is wrong. */
  fault: string;
}

export function emptyToken(): Token {
  return { kind: 'end', start: 0, end: 0, keyword: undefined, fault: '' };
}

const isNameStart = new Uint8Array(128);
const isNamePart = new Uint8Array(128);
/** 1: a capital letter, 2: a small one. */
const letterCase = new Uint8Array(128);
const bothCases = 3;
for (let code = 0; code < 128; code += 1) {
  const character = String.fromCharCode(code);
  if (/[A-Za-z_$]/.test(character)) isNameStart[code] = 1;
  if (/[A-Za-z0-9_]/.test(character)) isNamePart[code] = 1;
  if (/[A-Za-z]/.test(character)) letterCase[code] = /[A-Z]/.test(character) ? 1 : 2;
}

export class Lexer {
  readonly text: string;
  #at = 0;

  constructor(text: string, offset = 0) {
    this.text = text;
    this.#at = offset;
  }

  /** Continues at another place of the text. */
  moveTo(offset: number): void {
    this.#at = offset;
  }

  /** Reads the next token into `token`. @returns its kind */
  read(token: Token): TokenKind {
    const start = this.#skipBlanks();
    const { text } = this;
    token.start = start;
    token.keyword = undefined;
    if (start >= text.length) {
      return this.#finish(token, 'end', text.length);
    }
    const code = text.charCodeAt(start);
    if (code < 128 && isNameStart[code] === 1) return this.#word(token);
    if (isDigit(code) || (code === 46 && isDigit(text.charCodeAt(start + 1))))
      return this.#number(token);
    switch (code) {
      case 39: // '
      case 34: // "
        return this.#string(token, code);
      case 96: // `
        return this.#quotedName(token);
      case 64: // @
        return this.#attribute(token);
      case 35: // #
        return this.#rid(token);
      default:
        return this.#punctuation(token);
    }
  }

  /** @returns the offset of the next character that is neither blank nor comment */
  #skipBlanks(): number {
    const { text } = this;
    let at = this.#at;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === 32 || (code >= 9 && code <= 13 && code !== 11)) {
        at += 1;
      } else if (code === 45 && text.charCodeAt(at + 1) === 45 && text.charCodeAt(at + 2) === 32) {
        const newline = text.indexOf('\n', at);
        at = newline < 0 ? text.length : newline + 1;
      } else if (code === 47 && text.charCodeAt(at + 1) === 42) {
        const close = text.indexOf('*/', at + 2);
        if (close < 0) return at;
        at = close + 2;
      } else {
        return at;
      }
    }
  }

  #finish(token: Token, kind: TokenKind, end: number): TokenKind {
    token.kind = kind;
    token.end = end;
    this.#at = end;
    return kind;
  }

  #invalid(token: Token, fault: string, end: number): TokenKind {
    token.fault = fault;
    return this.#finish(token, 'invalid', end);
  }

  #word(token: Token): TokenKind {
    const { text } = this;
    let at = token.start;
    let cases = 0;
    for (let code = text.charCodeAt(at); at === token.start || isNameCode(code); ) {
      cases |= letterCase[code] as number;
      at += 1;
      code = text.charCodeAt(at);
    }
    if (text.charCodeAt(token.start) === 36 && isAllDigits(text, token.start + 1, at)) {
      return this.#finish(token, 'positional', at);
    }
    token.keyword = keywordOf(text.slice(token.start, at), cases === bothCases);
    return this.#finish(token, 'word', at);
  }

  #number(token: Token): TokenKind {
    const { text } = this;
    let at = token.start;
    if (text.charCodeAt(at) === 48 && (text.charCodeAt(at + 1) | 32) === 120) {
      at = this.#hexadecimal(at + 2);
    } else {
      while (isDigit(text.charCodeAt(at))) at += 1;
      if (text.charCodeAt(at) === 46 && isDigit(text.charCodeAt(at + 1))) {
        at += 1;
        while (isDigit(text.charCodeAt(at))) at += 1;
      }
      at = afterExponent(text, at, 101);
    }
    // The suffixes l, d, f; anything else glued to the number is a fault of its own.
    const suffix = text.charCodeAt(at) | 32;
    if (
      (suffix === 108 || suffix === 100 || suffix === 102) &&
      !isNameCode(text.charCodeAt(at + 1))
    )
      at += 1;
    if (!isNameCode(text.charCodeAt(at))) return this.#finish(token, 'number', at);
    while (isNameCode(text.charCodeAt(at))) at += 1;
    return this.#invalid(
      token,
      `invalid number '${text.slice(token.start, Math.min(at, token.start + 40))}'`,
      at,
    );
  }

  #hexadecimal(start: number): number {
    const { text } = this;
    let at = start;
    while (isHexDigit(text.charCodeAt(at))) at += 1;
    if (text.charCodeAt(at) === 46 && isHexDigit(text.charCodeAt(at + 1))) {
      at += 1;
      while (isHexDigit(text.charCodeAt(at))) at += 1;
    }
    return afterExponent(text, at, 112);
  }

  #string(token: Token, quote: number): TokenKind {
    const { text } = this;
    for (let at = token.start + 1; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === quote) return this.#finish(token, 'string', at + 1);
      if (code === 92) at += 1;
      else if (code === 10 || code === 13)
        return this.#invalid(token, 'line break in a string that starts here', at);
    }
    return this.#invalid(token, 'unterminated string', text.length);
  }

  #quotedName(token: Token): TokenKind {
    const { text } = this;
    for (let at = token.start + 1; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === 96) {
        if (at === token.start + 1) return this.#invalid(token, 'empty name', at + 1);
        return this.#finish(token, 'quoted', at + 1);
      }
      if (code === 92) at += 1;
    }
    return this.#invalid(token, 'unterminated name in back-ticks', text.length);
  }

  #attribute(token: Token): TokenKind {
    const { text } = this;
    let at = token.start + 1;
    while (isNameCode(text.charCodeAt(at))) at += 1;
    const name = text.slice(token.start, at);
    if (attributes.has(name.toLowerCase())) return this.#finish(token, 'attribute', at);
    return this.#invalid(
      token,
      `unknown attribute '${name}' (write \`${name}\` in back-ticks for a property of that name)`,
      at,
    );
  }

  #rid(token: Token): TokenKind {
    const { text } = this;
    const bucketEnd = afterInteger(text, token.start + 1);
    const end = text.charCodeAt(bucketEnd) === 58 ? afterInteger(text, bucketEnd + 1) : bucketEnd;
    if (bucketEnd === token.start + 1 || end <= bucketEnd + 1)
      return this.#invalid(token, "unexpected '#'", token.start + 1);
    return this.#finish(token, 'rid', end);
  }

  #punctuation(token: Token): TokenKind {
    const { text } = this;
    const start = token.start;
    const only = singleSigns[text.charCodeAt(start)];
    if (only !== undefined && isSignPart[text.charCodeAt(start + 1)] !== 1)
      return this.#finish(token, only, start + 1);
    // Blanks and comments were skipped before: this one has no end.
    if (text.startsWith('/*', start))
      return this.#invalid(token, 'unterminated comment', text.length);
    for (let length = 3; length > 0; length -= 1) {
      const sign = punctuation.get(text.slice(start, start + length));
      if (sign !== undefined) return this.#finish(token, sign, start + sign.length);
    }
    const shown = String.fromCodePoint(text.codePointAt(start) ?? 0xfffd);
    return this.#invalid(token, `unexpected '${shown}'`, start + shown.length);
  }
}

/** System attributes with a token of their own; `@cat` has none (sql.md 1.6). */
const attributes: ReadonlySet<string> = new Set([
  '@rid',
  '@type',
  '@this',
  '@in',
  '@out',
  '@props',
  '@rid_id',
  '@rid_pos',
]);

const punctuation = new Map<string, Punctuation>(
  (
    [
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      ',',
      ';',
      ':',
      '.',
      '..',
      '...',
      '?',
      '??',
      '+',
      '-',
      '*',
      '/',
      '%',
      '&',
      '|',
      '||',
      '^',
      '!',
      '=',
      '==',
      '!=',
      '<>',
      '<',
      '<=',
      '>',
      '>=',
      '<=>',
      '<<',
      '>>',
      '>>>',
      '+=',
      '-=',
      '*=',
      '/=',
    ] as const
  ).map((sign) => [sign, sign]),
);

/** Signs of one character by their code, and the codes that may stand second in a longer one. */
const singleSigns: (Punctuation | undefined)[] = [];
const isSignPart = new Uint8Array(128);
for (const sign of punctuation.keys()) {
  if (sign.length === 1) singleSigns[sign.charCodeAt(0)] = sign as Punctuation;
  else isSignPart[sign.charCodeAt(1)] = 1;
}
// The beginning of a comment.
isSignPart['*'.charCodeAt(0)] = 1;

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || ((code | 32) >= 97 && (code | 32) <= 102);
}

function isNameCode(code: number): boolean {
  return code < 128 && isNamePart[code] === 1;
}

function isAllDigits(text: string, start: number, end: number): boolean {
  if (start === end) return false;
  for (let at = start; at < end; at += 1) if (!isDigit(text.charCodeAt(at))) return false;
  return true;
}

/** The end of an exponent (`e+10`, of hexadecimal floats `p4`) that starts at `at`; `at` itself when there is none. */
function afterExponent(text: string, at: number, mark: number): number {
  if ((text.charCodeAt(at) | 32) !== mark) return at;
  const sign = text.charCodeAt(at + 1);
  let digit = sign === 43 || sign === 45 ? at + 2 : at + 1;
  if (!isDigit(text.charCodeAt(digit))) return at;
  while (isDigit(text.charCodeAt(digit))) digit += 1;
  return digit;
}

/** The end of an optionally signed integer; `at` itself when there is none. */
function afterInteger(text: string, at: number): number {
  const first = text.charCodeAt(at) === 45 ? at + 1 : at;
  let end = first;
  while (isDigit(text.charCodeAt(end))) end += 1;
  return end === first ? at : end;
}
