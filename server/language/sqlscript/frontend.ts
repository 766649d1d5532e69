import type { AnalysisContext, LanguageFrontend, ParseLimits } from '../frontend.ts';
import { analyzeOperationProgram } from '../sql/analyze/statement.ts';
import { isOperation } from '../sql/analyze/operation.ts';
import type { SqlAst } from '../sql/frontend.ts';
import type { Program } from '#query/algebra/program.ts';
import { parseScript } from '../sql/parser/statement.ts';
import { scriptOf } from '../sql/script/build.ts';
import type { SqlScript } from '../script-steps.ts';

/**
 * Language `sqlscript` (sql.md 17). A script is parsed as a whole; its statements are analyzed one by one when they are run
 * (`Part.analyze`), so the program depends on the text alone.
 */
export const sqlScriptFrontend: LanguageFrontend<SqlScript | SqlAst> = {
  name: 'sqlscript',
  aliases: [],
  parse: (text: string, limits: ParseLimits): SqlScript | SqlAst => {
    const statements = parseScript(text, limits);
    const [only] = statements;
    // An operation on the database alone needs no transaction around it.
    if (statements.length === 1 && only !== undefined && isOperation(only))
      return { text, statement: only };
    return scriptOf(text, statements);
  },
  analyze: (parsed: SqlScript | SqlAst, context: AnalysisContext): Program => {
    if ('steps' in parsed) return parsed;
    const { text, statement } = parsed;
    return isOperation(statement)
      ? analyzeOperationProgram(text, statement, context)
      : scriptOf(text, [statement]);
  },
};
