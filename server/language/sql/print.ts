import { unreachable } from '#core/assert.ts';
import type { Expression, MapLiteral, NestedItem } from './ast.ts';
import { emptyToken, Lexer } from './lexer.ts';
import { spacedTokens } from './spaced-tokens.ts';

/**
 * The canonical text of expressions, which names columns without an alias (sql.md 5.9): one space around binary operators,
 * none around dots and brackets, `, ` between arguments; literals, quoted names and function names as they were written.
 */

/** The name of a column for an expression without an alias. @param text the source of the statement */
export function columnName(expression: Expression, text: string): string {
  if (expression.kind === 'name') return expression.name;
  // `parent:{name}` keeps the name of what it projects.
  if (expression.kind === 'nested') return columnName(expression.of, text);
  return canonicalText(expression, text);
}

export function canonicalText(expression: Expression, text: string): string {
  return new Printer(text).print(expression);
}

export class Printer {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  print(expression: Expression): string {
    switch (expression.kind) {
      case 'literal':
        if (typeof expression.value === 'string') return this.#source(expression);
        // A map of literals.
        if (expression.value instanceof Map)
          return spacedTokens(this.#text, expression.at, expression.end);
        return this.#source(expression).replace(/\s/g, '');
      case 'rid':
      case 'parameter':
        return this.#source(expression).replace(/\s/g, '');
      case 'constants':
      case 'subQuery':
        return spacedTokens(this.#text, expression.at, expression.end);
      case 'ridOf':
        return `{@rid: ${this.print(expression.value)}}`;
      case 'name':
        return this.#source(expression);
      case 'attribute':
        return expression.attribute;
      case 'this':
        return '@this';
      case 'call':
        return `${expression.name}(${expression.isStar ? '*' : this.#list(expression.arguments)})`;
      case 'list':
        return `[${this.#list(expression.items)}]`;
      case 'map': {
        const keys = keysOf(expression, this.#text);
        const entries = expression.entries.map(
          (entry, at) => `${keys[at]}: ${this.print(entry.value)}`,
        );
        return `{${entries.join(', ')}}`;
      }
      case 'paren':
        return `(${this.print(expression.inner)})`;
      case 'comprehension':
        return this.#comprehension(expression);
      case 'case':
        return this.#case(expression);
      default:
        return this.#attached(expression);
    }
  }

  #attached(expression: Exclude<Expression, { readonly kind: PlainKind }>): string {
    switch (expression.kind) {
      case 'property':
        return `${this.print(expression.of)}.${this.#memberName(expression)}`;
      case 'allProperties':
        return `${this.print(expression.of)}.*`;
      case 'method':
        return `${this.print(expression.of)}.${expression.name}(${this.#list(expression.arguments)})`;
      case 'element':
        return `${this.print(expression.of)}[${this.#list(expression.keys)}]`;
      case 'slice': {
        const low = expression.low ? this.print(expression.low) : '';
        const high = expression.high ? this.print(expression.high) : '';
        const dots = expression.isInclusive ? '...' : '..';
        return `${this.print(expression.of)}[${low}${dots}${high}]`;
      }
      case 'elementsWhere':
        return `${this.print(expression.of)}[${this.print(expression.condition)}]`;
      case 'elementsThat':
        return `${this.print(expression.of)}[${expression.test.toUpperCase()} ${this.print(expression.value)}]`;
      case 'nested':
        return `${this.print(expression.of)}:{${this.#nestedItems(expression.items)}}`;
      case 'unary':
        return `${expression.sign}${this.print(expression.operand)}`;
      case 'chain':
        return this.#chain(expression);
      case 'concatenate':
        return this.#joined(expression.operands, ' || ');
      case 'coalesce':
        return this.#joined(expression.operands, ' ?? ');
      case 'and':
        return this.#joined(expression.operands, ' AND ');
      case 'or':
        return this.#joined(expression.operands, ' OR ');
      default:
        return this.#test(expression);
    }
  }

  #test(expression: Exclude<Expression, { readonly kind: PlainKind | AttachedKind }>): string {
    switch (expression.kind) {
      case 'not':
        return `NOT ${this.print(expression.operand)}`;
      case 'compare':
        return `${this.print(expression.left)} ${spacedTokens(this.#text, expression.left.end, expression.right.at)} ${this.print(expression.right)}`;
      case 'isNull':
        return `${this.print(expression.operand)} IS ${negation(expression)}NULL`;
      case 'isDefined':
        return `${this.print(expression.operand)} IS ${negation(expression)}DEFINED`;
      case 'in':
        return `${this.print(expression.element)} ${negation(expression)}IN ${this.print(expression.list)}`;
      case 'between':
        return `${this.print(expression.operand)} ${negation(expression)}BETWEEN ${this.print(expression.low)} AND ${this.print(expression.high)}`;
      case 'like': {
        const operator = expression.ignoresCase ? 'ILIKE' : 'LIKE';
        return `${this.print(expression.text)} ${negation(expression)}${operator} ${this.print(expression.pattern)}`;
      }
      case 'matches':
        return `${this.print(expression.text)} MATCHES ${this.print(expression.pattern)}`;
      case 'contains': {
        const suffix = expression.mode === 'element' ? '' : expression.mode.toUpperCase();
        return `${this.print(expression.collection)} CONTAINS${suffix} ${this.print(expression.value)}`;
      }
      case 'instanceOf':
        return `${this.print(expression.operand)} INSTANCEOF ${expression.type}`;
      default:
        return unreachable(expression);
    }
  }

  #chain(expression: Expression & { readonly kind: 'chain' }): string {
    const parts: string[] = [];
    for (const [at, operand] of expression.operands.entries()) {
      const sign = expression.signs[at - 1];
      if (sign !== undefined) parts.push(sign);
      parts.push(this.print(operand));
    }
    return parts.join(' ');
  }

  #comprehension(expression: Expression & { readonly kind: 'comprehension' }): string {
    const where = expression.condition ? ` WHERE ${this.print(expression.condition)}` : '';
    return `[${this.print(expression.result)} FOR ${expression.variable} IN ${this.print(expression.list)}${where}]`;
  }

  #case(expression: Expression & { readonly kind: 'case' }): string {
    const subject = expression.subject ? ` ${this.print(expression.subject)}` : '';
    const branches = expression.branches.map(
      (branch) => ` WHEN ${this.print(branch.when)} THEN ${this.print(branch.result)}`,
    );
    const otherwise = expression.otherwise ? ` ELSE ${this.print(expression.otherwise)}` : '';
    return `CASE${subject}${branches.join('')}${otherwise} END`;
  }

  #nestedItems(items: readonly NestedItem[]): string {
    return items
      .map((item) => {
        switch (item.kind) {
          case 'all':
            return item.nested ? `*:{${this.#nestedItems(item.nested)}}` : '*';
          case 'exclude':
            return `!${item.name}`;
          case 'excludePrefix':
            return `!${item.prefix}*`;
          case 'includePrefix':
            return `${item.prefix}*`;
          default:
            return this.print(item.value) + (item.alias === undefined ? '' : ` AS ${item.alias}`);
        }
      })
      .join(', ');
  }

  #joined(operands: readonly Expression[], separator: string): string {
    return operands.map((operand) => this.print(operand)).join(separator);
  }

  #list(items: readonly Expression[]): string {
    return this.#joined(items, ', ');
  }

  /** The last name of `a.b`, back-ticks kept. */
  #memberName(expression: Expression & { readonly kind: 'property' }): string {
    if (!expression.isQuoted) return expression.name;
    const source = this.#source(expression);
    return source.slice(source.lastIndexOf('.`') + 1);
  }

  #source(expression: Expression): string {
    return this.#text.slice(expression.at, expression.end);
  }
}

type PlainKind =
  | 'literal'
  | 'rid'
  | 'parameter'
  | 'constants'
  | 'subQuery'
  | 'ridOf'
  | 'name'
  | 'attribute'
  | 'this'
  | 'call'
  | 'list'
  | 'map'
  | 'paren'
  | 'comprehension'
  | 'case';

type AttachedKind =
  | 'property'
  | 'allProperties'
  | 'method'
  | 'element'
  | 'slice'
  | 'elementsWhere'
  | 'elementsThat'
  | 'nested'
  | 'unary'
  | 'chain'
  | 'concatenate'
  | 'coalesce'
  | 'and'
  | 'or';

function negation(expression: { readonly isNegated: boolean }): string {
  return expression.isNegated ? 'NOT ' : '';
}

/** The keys of a map as they were written. */
function keysOf(map: MapLiteral, text: string): readonly string[] {
  const lexer = new Lexer(text, map.at);
  const token = emptyToken();
  return map.entries.map(({ value }) => {
    // The sign before the key: `{` or `,`.
    lexer.read(token);
    lexer.read(token);
    lexer.moveTo(value.end);
    return text.slice(token.start, token.end);
  });
}
