import type { AnyFrontend } from './registry.ts';
import { cypherFrontend } from './cypher/frontend.ts';
import { redisFrontend } from './redis/frontend.ts';
import { sqlFrontend } from './sql/frontend.ts';
import { sqlScriptFrontend } from './sqlscript/frontend.ts';

/** Every language of the server; what it lists is offered by all doors and tried by the tests of access. */
export const languageFrontends: readonly AnyFrontend[] = [
  sqlFrontend,
  sqlScriptFrontend,
  redisFrontend,
  cypherFrontend,
];
