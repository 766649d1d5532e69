import { loadOnDemand } from '#core/load-on-demand.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { Program } from '#query/algebra/program.ts';
import type { AnalysisContext, ParseLimits } from './frontend.ts';
import type { AnyFrontend } from './registry.ts';
import { sqlFrontend } from './sql/frontend.ts';
import { sqlScriptFrontend } from './sqlscript/frontend.ts';

const redis = loadOnDemand<typeof import('./redis/frontend.ts')>(
  import.meta.url,
  './redis/frontend.ts',
);
const cypher = loadOnDemand<typeof import('./cypher/frontend.ts')>(
  import.meta.url,
  './cypher/frontend.ts',
);

/** Every language of the server; what it lists is offered by all doors and tried by the tests of access. */
export const languageFrontends: readonly AnyFrontend[] = [
  sqlFrontend,
  sqlScriptFrontend,
  atFirstUse('redis', [], () => redis().redisFrontend),
  atFirstUse('cypher', ['opencypher'], () => cypher().cypherFrontend),
];

/** A front end of which a server knows the name, until somebody speaks it. */
function atFirstUse(
  name: string,
  aliases: readonly string[],
  frontend: () => AnyFrontend,
): AnyFrontend {
  return {
    name,
    aliases,
    parse: (text, limits) => frontend().parse(text, limits),
    parseInSteps: (text, limits) => parsedInSteps(frontend(), text, limits),
    analyze: (ast, context) => frontend().analyze(ast, context),
    analyzeInSteps: (ast, context) => analyzedInSteps(frontend(), ast, context),
  };
}

function* analyzedInSteps(
  frontend: AnyFrontend,
  ast: unknown,
  context: AnalysisContext,
): PausingWork<Program> {
  const { analyzeInSteps } = frontend;
  return analyzeInSteps === undefined
    ? frontend.analyze(ast, context)
    : yield* analyzeInSteps(ast, context);
}

/** As the language can: one that cannot stop within a text does all of it in one step. */
function* parsedInSteps(
  frontend: AnyFrontend,
  text: string,
  limits: ParseLimits,
): PausingWork<unknown> {
  const { parseInSteps } = frontend;
  return parseInSteps === undefined
    ? frontend.parse(text, limits)
    : yield* parseInSteps(text, limits);
}
