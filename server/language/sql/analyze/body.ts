import type { Catalog } from '#catalog/catalog.ts';
import type { TriggerEvent } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import { problemOfScript } from '#platform/script/engine.ts';
import { parseStatement } from '../parser/statement.ts';
import { nodesOf } from '../script/effects.ts';
import type { Statement } from '../statements.ts';
import type { Analysis } from './analysis.ts';

/*
 * Bodies of triggers and functions (sql.md 14.1, 14.2): one statement, kept as text. They are parsed when they are defined (house
 * decision 47); names in them are looked up when they run, since the types may come later.
 */

const writingStatements: ReadonlySet<string> = new Set<Statement['kind']>([
  'insert',
  'createEdge',
  'update',
  'delete',
]);

/** Every kind of statement that no body may have, wherever it stands, and what it is called. */
const refusedKinds: ReadonlyMap<string, string> = new Map<Statement['kind'], string>([
  ['createType', 'a schema statement'],
  ['alterType', 'a schema statement'],
  ['dropType', 'a schema statement'],
  ['createProperty', 'a schema statement'],
  ['alterProperty', 'a schema statement'],
  ['dropProperty', 'a schema statement'],
  ['createBucket', 'a schema statement'],
  ['dropBucket', 'a schema statement'],
  ['createIndex', 'a schema statement'],
  ['dropIndex', 'a schema statement'],
  ['inspect', 'EXPLAIN or PROFILE'],
  ['let', 'LET'],
  ['setGlobal', 'SET GLOBAL'],
  ['return', 'RETURN'],
  ['if', 'IF'],
  ['while', 'WHILE'],
  ['forEach', 'FOREACH'],
  ['break', 'BREAK'],
  ['rollback', 'ROLLBACK'],
  ['begin', 'BEGIN'],
  ['commit', 'COMMIT'],
  ['lock', 'LOCK'],
  ['sleep', 'SLEEP'],
  ['console', 'CONSOLE'],
  ['callStatement', 'a bare function call'],
]);

/** @throws DatabaseError `Syntax`, `IllegalArgument` for what a trigger may not do */
export function requireTriggerAction(
  analysis: Analysis,
  trigger: { readonly name: string; readonly event: TriggerEvent; readonly action: string },
): void {
  const what = `the action of trigger '${trigger.name}'`;
  const statement = parsedBody(analysis, what, trigger.action);
  if (trigger.event !== 'READ' || !mayWrite(analysis, statement)) return;
  throw new DatabaseError('IllegalArgument', `${what} writes, which a trigger on READ may not`);
}

/** @throws DatabaseError `Syntax`, `IllegalArgument` for what a function may not do */
export function requireFunctionBody(analysis: Analysis, name: string, body: string): void {
  parsedBody(analysis, `the body of function '${name}'`, body);
}

/** @throws DatabaseError `Syntax` for what is no body of a function in JavaScript; it is not run */
export function requireScriptBody(what: string, parameters: readonly string[], body: string): void {
  const problem = problemOfScript(parameters, body);
  if (problem !== undefined) throw new DatabaseError('Syntax', `${what}: ${problem}`);
}

function parsedBody(analysis: Analysis, what: string, text: string): Statement {
  const statement = inBody(what, () => parseStatement(text, analysis.parseLimits));
  if (statement.kind === 'inspect') throw refusal(what, 'EXPLAIN or PROFILE');
  for (const node of nodesOf(statement)) {
    const refused = node.kind === 'command' ? node.name : refusedKinds.get(node.kind);
    if (typeof refused === 'string' && !allowedCommands.has(refused)) throw refusal(what, refused);
  }
  return statement;
}

function refusal(what: string, refused: string): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `${what} holds ${refused}; it must be one statement that reads or writes records`,
  );
}

const allowedCommands: ReadonlySet<string> = new Set(['MOVE VERTEX', 'FIND REFERENCES']);

function inBody<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const { help } = error;
    const message = `${what}: ${error.message}`;
    throw new DatabaseError(error.code, message, help === undefined ? {} : { help });
  }
}

/** Read off the syntax, functions that it calls included: the types may not be there yet. */
function mayWrite(analysis: Analysis, statement: Statement): boolean {
  const { catalog } = analysis;
  const seen = new Set<string>();
  const waiting: Statement[] = [statement];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const node of nodesOf(next)) {
      const isWrite = writingStatements.has(node.kind);
      if (isWrite || (node.kind === 'command' && node.name === 'MOVE VERTEX')) return true;
      if (node.kind !== 'call' || typeof node.name !== 'string' || seen.has(node.name)) continue;
      seen.add(node.name);
      const body = bodyOf(catalog, node.name);
      if (body !== undefined) waiting.push(parseStatement(body, analysis.parseLimits));
    }
  }
  return false;
}

function bodyOf(catalog: Catalog, name: string): string | undefined {
  const defined = catalog.definitions.functionNamed(name);
  return defined?.language === 'sql' ? defined.body : undefined;
}
