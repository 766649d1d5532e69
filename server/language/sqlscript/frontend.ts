import type { AnalysisContext, LanguageFrontend, ParseLimits } from '../frontend.ts';
import { parseScript } from '../sql/parser/statement.ts';
import { scriptOf } from '../sql/script/build.ts';
import type { SqlScript } from '../sql/script/steps.ts';

/**
 * Language `sqlscript` (sql.md 17). A script is parsed as a whole; its statements are analyzed one by one when they are run
 * (`Part.analyze`), so the program depends on the text alone.
 */
export const sqlScriptFrontend: LanguageFrontend<SqlScript> = {
  name: 'sqlscript',
  aliases: [],
  parse: (text: string, limits: ParseLimits): SqlScript =>
    scriptOf(text, parseScript(text, limits)),
  analyze: (script: SqlScript, _context: AnalysisContext): SqlScript => script,
};
