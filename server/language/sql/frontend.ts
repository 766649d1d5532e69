import type { Program } from '#query/algebra/program.ts';
import type { AnalysisContext, LanguageFrontend, ParseLimits } from '../frontend.ts';
import { isOperation } from './analyze/operation.ts';
import { analyzeOperationProgram, analyzeProgram } from './analyze/statement.ts';
import { isProfiledScript, singleStatementScript } from './script/build.ts';
import { parseStatement } from './parser/statement.ts';
import { isScriptStatement, type Statement } from './statements.ts';

/** A parsed statement with the text that its offsets point into. */
export interface SqlAst {
  readonly text: string;
  readonly statement: Statement;
}

/** Language `sql`: one statement (sql.md). */
export const sqlFrontend: LanguageFrontend<SqlAst> = {
  name: 'sql',
  aliases: [],
  parse: (text: string, limits: ParseLimits): SqlAst => ({
    text,
    statement: parseStatement(text, limits),
  }),
  analyze: (ast: SqlAst, context: AnalysisContext): Program => {
    const { text, statement } = ast;
    if (isScriptStatement(statement) || isProfiledScript(statement))
      return singleStatementScript(text, statement);
    return isOperation(statement)
      ? analyzeOperationProgram(text, statement, context)
      : analyzeProgram(text, statement, context);
  },
};
