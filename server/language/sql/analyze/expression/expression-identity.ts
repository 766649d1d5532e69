import type { Expression } from '../../ast.ts';
import { Printer } from '../../print.ts';

/**
 * A text that two expressions of a statement share when they mean the same: back-ticks, quotation marks, brackets around the
 * whole and the letter case of functions make no difference, positional parameters do.
 */
export function identityOf(expression: Expression, text: string): string {
  return new IdentityPrinter(text).print(withoutBrackets(expression));
}

class IdentityPrinter extends Printer {
  override print(expression: Expression): string {
    switch (expression.kind) {
      case 'literal':
        return typeof expression.value === 'string'
          ? JSON.stringify(expression.value)
          : super.print(expression);
      case 'parameter':
        return `:${expression.name}`;
      case 'name':
        return expression.isQuoted && expression.name.startsWith('$')
          ? quoted(expression.name)
          : word(expression.name);
      case 'property':
        return `${this.print(expression.of)}.${word(expression.name)}`;
      case 'call':
        return `${callee(expression.name)}(${expression.isStar ? '*' : this.#arguments(expression.arguments)})`;
      case 'method':
        return `${this.print(expression.of)}.${expression.name.toLowerCase()}(${this.#arguments(expression.arguments)})`;
      case 'subQuery': {
        const printed = super.print(expression);
        // Which of the positional parameters its marks stand for, its text does not tell.
        return printed.includes('?') ? `${printed}@${expression.at}` : printed;
      }
      default:
        return super.print(expression);
    }
  }

  #arguments(items: readonly Expression[]): string {
    return items.map((item) => this.print(withoutBrackets(item))).join(', ');
  }
}

function withoutBrackets(expression: Expression): Expression {
  let inner = expression;
  while (inner.kind === 'paren') inner = inner.inner;
  return inner;
}

/** Attributes are the same in any letter case. */
function word(name: string): string {
  if (name.startsWith('@')) return name.toLowerCase();
  return /^[A-Za-z_$][A-Za-z0-9_]*$/.test(name) ? name : quoted(name);
}

function quoted(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}

/** Functions of libraries are told apart by letter case. */
function callee(name: string): string {
  return name.includes('.') ? name : name.toLowerCase();
}
