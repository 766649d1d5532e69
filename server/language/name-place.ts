import { DatabaseError, type ErrorCode, type ErrorPosition } from '#core/errors.ts';
import { maskSecretsInPlace } from '#core/text/masked-text.ts';
import { syntaxError } from './syntax-error.ts';
import { errorPositionAt, excerptAt, positionAt } from './text-cursor.ts';

/** The part of a text that one statement takes up. */
export interface StatementSource {
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

/** Errors about names: their messages are fixed (sql.md 4), so the place goes into `help`. */
const nameErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'Schema',
  'CommandExecution',
  'IllegalArgument',
]);
const namedMessages =
  /not found|does not exist|Unknown (?:function|method|data type|procedure)|Invalid (?:metadata|attribute)|already (?:exists|names)|does not belong|is (?:an?|not an?) (?:document|vertex|edge)/u;
/** Before a name of a type, so that a property of the same name is passed over. */
const introduces =
  /(?:\b(?:from|into|update|type|types|vertex|edge|on|extends|of|index|bucket|property|trigger|view|name)|[:(+,-])\s*$/iu;
const shownMax = 256;

/**
 * An error about a name that is not known, with the place of the name in the statement as its `help`: `line 1, column 13 in
 * "SELECT FROM ^Persn"; did you mean 'Person'?`. Any other error is given back as it is.
 */
export function withPlace(error: unknown, source: StatementSource | undefined): unknown {
  if (!(error instanceof DatabaseError) || source === undefined) return error;
  if (error.code === 'Syntax') return withPlaceInMessage(error, source);
  if (!nameErrors.has(error.code)) return error;
  if (error.code !== 'Schema' && !namedMessages.test(error.message)) return error;
  if (error.help?.startsWith('line ')) return error;
  const at = placeOf(namesIn(error.message), source);
  if (at === undefined) return error;
  const { line, column } = positionAt(source.text, at);
  const place = `line ${line}, column ${column} in "${excerptAt(maskSecretsInPlace(source.text), at)}"`;
  return new DatabaseError(error.code, error.message, {
    arguments: error.arguments,
    cause: error.cause ?? error,
    position: errorPositionAt(source.text, at),
    help: error.help === undefined ? place : `${place}; ${error.help}`,
  });
}

/**
 * What is found out after parsing, but is an error of syntax all the same: its message begins with the place (sql.md 4). Faults
 * in bodies, which are texts of their own, stay as they are.
 */
function withPlaceInMessage(error: DatabaseError, source: StatementSource): DatabaseError {
  if (/\bline \d|^the (?:body|action) of /u.test(error.message)) return error;
  const offset = placeOf(namesIn(error.message), source) ?? source.at;
  const suggestion = /did you mean '(.+)'\?/u.exec(error.help ?? '')?.[1];
  return syntaxError({ text: source.text, offset, problem: error.message, suggestion });
}

/**
 * What a message quotes, or names after its colon or as its type; the parts of `Type.property`, the last one first; the type of
 * `Type[property]`.
 */
function namesIn(message: string): readonly string[] {
  const names: string[] = [];
  const quoted = [...message.matchAll(/'([^']{1,256})'/gu)].map((match) => match[1] as string);
  const after = /: ([^\s:].{0,255})$/u.exec(message)?.[1];
  const taken = /^Type (.{1,256}) already exists$/u.exec(message)?.[1];
  for (const name of [...quoted, after, taken]) {
    if (name === undefined) continue;
    names.push(name);
    const bracket = name.indexOf('[');
    if (bracket > 0) names.push(name.slice(0, bracket));
    const dot = name.lastIndexOf('.');
    if (dot > 0) names.push(name.slice(dot + 1), name.slice(0, dot));
  }
  return names;
}

function placeOf(names: readonly string[], { text, at, end }: StatementSource): number | undefined {
  const statement = text.slice(at, end);
  for (const name of names) {
    if (name.length > shownMax) continue;
    const escaped = name.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&');
    const word = new RegExp(`(?<![\\w$])${escaped}(?![\\w$])`, 'giu');
    const all = [...statement.matchAll(word)];
    const asSpelt = all.filter((match) => match[0] === name);
    const hits = (asSpelt.length > 0 ? asSpelt : all).map((match) => match.index);
    const introduced = hits.find((hit) =>
      introduces.test(statement.slice(Math.max(0, hit - 40), hit)),
    );
    const found = introduced ?? hits[0];
    if (found !== undefined) return at + found;
  }
  return undefined;
}

/** Where a name stands in a statement; undefined when it does not. */
export function positionOfName(name: string, source: StatementSource): ErrorPosition | undefined {
  const at = placeOf([name], source);
  return at === undefined ? undefined : errorPositionAt(source.text, at);
}
