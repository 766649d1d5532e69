import type { FunctionDefinition } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import { walkPlan } from '#query/algebra/plan-walk.ts';
import type { LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import type { Program } from '#query/algebra/program.ts';

/*
 * What the bodies of triggers and functions may hold (sql.md 14.1, 14.2). Those in SQL are read by its front end when they are
 * defined; those in Cypher here, since no language knows another.
 */

/** Languages of bodies that are statements. */
export type BodyLanguage = Exclude<FunctionDefinition['language'], 'js'>;

/** The language of a function as it is kept: one name for each; undefined for what is no statement. */
export function bodyLanguage(language: string): BodyLanguage | undefined {
  if (language === 'sql') return 'sql';
  return language === 'cypher' || language === 'opencypher' ? 'cypher' : undefined;
}

/** @throws DatabaseError for what cannot run in the middle of another statement */
export function bodyProgram(program: Program, text: string, language: BodyLanguage): QueryProgram {
  if (program.kind !== 'query')
    throw new DatabaseError('NotSupported', `not supported in a trigger or function: '${text}'`);
  const { missingTypes = [] } = program;
  const [missing] = missingTypes;
  if (missing !== undefined)
    throw new DatabaseError(
      'Schema',
      `Type with name '${missing.name}' was not found; a function makes none`,
    );
  // What stood behind a type that was missing when the function was defined has not been seen yet.
  const refused = language === 'cypher' ? refusedIn(program) : undefined;
  if (refused === undefined) return program;
  throw new DatabaseError('NotSupported', `not supported in a function: ${refused}`);
}

/**
 * A body in Cypher when it is defined: types, functions and procedures that are not there yet may come before it runs.
 * @param name of the function
 * @throws DatabaseError `Syntax`, `IllegalArgument` for what is no query of records
 */
export function requireCypherBody(name: string, analyze: () => Program): void {
  const what = `the body of function '${name}'`;
  let refused: string | undefined;
  try {
    refused = refusedIn(analyze());
  } catch (error) {
    if (lacksName(error)) return;
    throw inBody(what, error);
  }
  if (refused === undefined) return;
  throw new DatabaseError(
    'IllegalArgument',
    `${what} holds ${refused}; it must be one statement that reads or writes records`,
  );
}

const unknownNames: ReadonlySet<string> = new Set(['UnknownFunction', 'ProcedureNotFound']);

function lacksName(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return error.code === 'Schema' || unknownNames.has(error.failure?.detail ?? '');
}

function refusedIn(program: Program): string | undefined {
  if (program.kind !== 'query') return 'a statement on transactions';
  if (program.inspect !== undefined) return 'EXPLAIN or PROFILE';
  if (program.isCommand === true) return 'a schema statement or SHOW';
  return refusedInPlan(program.plan);
}

function refusedInPlan(plan: LogicalPlan): string | undefined {
  let refused: string | undefined;
  walkPlan(plan, {
    plan(node) {
      if (node.op === 'Alter' || node.op === 'Maintain') refused = 'a schema statement';
      if (node.op === 'Call' && node.procedure === '#load.csv') refused = 'LOAD CSV';
      if (node.op === 'Apply' && node.transactions !== undefined) refused = 'IN TRANSACTIONS';
    },
  });
  return refused;
}

function inBody(what: string, error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const { help } = error;
  return new DatabaseError(
    error.code,
    `${what}: ${error.message}`,
    help === undefined ? {} : { help },
  );
}
