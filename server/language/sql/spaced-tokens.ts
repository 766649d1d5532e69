import { emptyToken, Lexer, type TokenKind } from './lexer.ts';

/** What a colon stands for; it decides where blanks go. */
type Colon = 'parameter' | 'key' | 'target';
type Role = TokenKind | Colon;

const noSpaceBefore: ReadonlySet<Role> = new Set<Role>([
  ',',
  ')',
  ']',
  '}',
  '.',
  ';',
  'key',
  'target',
  '..',
  '...',
]);
const noSpaceAfter: ReadonlySet<Role> = new Set<Role>([
  '(',
  '[',
  '{',
  '.',
  'parameter',
  'target',
  '..',
  '...',
  '!',
]);

/** The tokens of a part of the source with one space between them where one belongs, comments left out. */
export function spacedTokens(text: string, start: number, end: number): string {
  const lexer = new Lexer(text, start);
  const token = emptyToken();
  // For each brace that is open: whether keys stand in it, as in maps and nodes of MATCH, and not a nested projection.
  const braces: boolean[] = [];
  let printed = '';
  let previous: Role | undefined;
  let isSigned = false;
  for (lexer.read(token); token.start < end && token.kind !== 'end'; lexer.read(token)) {
    const { kind } = token;
    const role = kind === ':' ? colonAt(text, token.start, previous, braces.at(-1) === true) : kind;
    if (kind === '{') braces.push(previous !== 'target');
    else if (kind === '}') braces.pop();
    const opensCall =
      (kind === '(' || kind === '[') &&
      (previous === 'word' || previous === 'quoted') &&
      isGlued(text, token.start);
    const isTight =
      previous === undefined ||
      noSpaceAfter.has(previous) ||
      noSpaceBefore.has(role) ||
      opensCall ||
      isSigned;
    printed += (isTight ? '' : ' ') + text.slice(token.start, token.end);
    // A minus that no operand precedes is a sign and belongs to what follows.
    isSigned =
      kind === '-' && (previous === undefined || previous === ',' || noSpaceAfter.has(previous));
    previous = role;
  }
  return printed;
}

/** `:name`, the colon behind a key, or that of `bucket:b` and `link:{name}`. */
function colonAt(
  text: string,
  offset: number,
  previous: Role | undefined,
  isAmongKeys: boolean,
): Colon {
  const isBehindName = previous === 'word' || previous === 'quoted' || previous === 'string';
  const isBeforeName = /[A-Za-z_$`]/.test(text.charAt(offset + 1));
  if (isBeforeName && !(isBehindName && isGlued(text, offset))) return 'parameter';
  return isAmongKeys ? 'key' : 'target';
}

function isGlued(text: string, offset: number): boolean {
  return offset > 0 && !/\s/.test(text.charAt(offset - 1));
}
