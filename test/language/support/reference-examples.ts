import { readFileSync } from 'node:fs';
import { DatabaseError } from '#core/errors.ts';
import type { ParseLimits } from '#language/frontend.ts';
import { parseExpression, parseScript, parseStatement } from '#language/sql/parser/statement.ts';

// Finds the examples of a reference text: spans of code that are whole statements, code blocks that are scripts, and expressions
// with a stated result or without names. Grammar, names of clauses and mere words are no examples.

/** A statement, script or expression that a text shows. */
export interface Example {
  /** File and line, as an editor takes them. */
  readonly place: string;
  readonly text: string;
}

const limits: ParseLimits = { expressionDepthMax: 200, statementBytesMax: 65_536 };

/** Words that begin a statement, with something behind them. */
const statement =
  /^(select|insert|update|delete|create|alter|drop|match|traverse|truncate|move|explain|profile|find|check|backup|export|import|restore|let|set global|return|if|rebuild|compact|define|refresh)\b\s*\S/i;
const codeSpan = /(`+)(.+?)\1(?!`)/g;
/** What the texts put between an expression and its result. */
const result = /^ (?:->|=) /;

/** The examples in `file`, in order. Linear in the text. */
export function examplesIn(file: URL, name: string): readonly Example[] {
  const found: Example[] = [];
  let block: string[] | undefined;
  let line = 0;
  for (const text of readFileSync(file, 'utf8').split('\n')) {
    line += 1;
    const place = `${name}:${line}`;
    if (text.startsWith('```')) {
      if (block === undefined) block = [];
      else {
        const script = block.join('\n');
        if (parses(() => parseScript(script, limits))) found.push({ place, text: script });
        block = undefined;
      }
    } else if (block === undefined) found.push(...examplesOfLine(text, place));
    else block.push(text);
  }
  return found;
}

function* examplesOfLine(line: string, place: string): Generator<Example> {
  for (const match of line.matchAll(codeSpan)) {
    const [whole, , inner = ''] = match;
    // In a table a bar is escaped; a space keeps a back-tick apart from the fence.
    const text = inner.replaceAll('\\|', '|').trim();
    const after = line.slice(match.index + whole.length);
    if (isExample(text, after)) yield { place, text };
  }
}

function isExample(text: string, after: string): boolean {
  if (statement.test(text))
    return parses(() => parseStatement(text, limits)) || parses(() => parseScript(text, limits));
  if (/^where /i.test(text)) return parses(() => parseStatement(`SELECT FROM T ${text}`, limits));
  const isStated = result.test(after) && /[^\w.]/.test(text);
  return parses(() => parseExpression(text, limits)) && (isStated || isWhole(text));
}

/** A call with arguments and without names: there is nothing to fill in. */
function isWhole(text: string): boolean {
  let hasCall = false;
  for (const { kind } of nodes(parseExpression(text, limits))) {
    if (kind === 'name') return false;
    if (kind === 'call' || kind === 'method') hasCall = true;
  }
  return hasCall && !text.endsWith('()') && !text.endsWith('(*)');
}

/** Every node of a syntax tree, in no order. */
function* nodes(tree: unknown): Generator<{ readonly kind: string }> {
  if (typeof tree !== 'object' || tree === null) return;
  if ('kind' in tree && typeof tree.kind === 'string') yield { kind: tree.kind };
  for (const part of Object.values(tree)) yield* nodes(part);
}

/**
 * The text in the form in which examples are compared: spaces matter only between words, letter case never.
 * Linear in the text.
 */
export function comparable(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/ ?([^\w$@#'" ]) ?/g, '$1')
    .toLowerCase();
}

/** True when `texts`, already comparable, show the example by itself and not as a part of a longer word. */
export function isCovered(example: Example, texts: readonly string[]): boolean {
  const wanted = comparable(example.text).trim();
  const startsInWord = /^\w/.test(wanted);
  const endsInWord = /\w$/.test(wanted);
  return texts.some((text) => {
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
      const isCutBefore = startsInWord && /[\w$]/.test(text[at - 1] ?? ' ');
      const isCutAfter = endsInWord && /[\w$]/.test(text[at + wanted.length] ?? ' ');
      if (!isCutBefore && !isCutAfter) return true;
    }
    return false;
  });
}

function parses(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch (error) {
    if (error instanceof DatabaseError) return false;
    throw error;
  }
}
