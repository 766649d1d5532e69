import type { Rid } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { ExecutionContext } from '../../operators/operator.ts';
import { reading, rowWith } from '../define.ts';
import type { Procedure, ProcedureParameter } from '../procedure.ts';
import {
  edgesBetween,
  expansion,
  type ExpansionRules,
  pathTo,
  rulesOf,
  rulesOfConfig,
  startsOf,
} from './expansion.ts';

/** `path.*` (cypher.md 10): what is within reach of a node. */

const start: ProcedureParameter = { name: 'start', type: 'ANY' };
const config: ProcedureParameter = { name: 'config', type: 'MAP', default: null };
const optional = (name: string): ProcedureParameter => ({ name, type: 'ANY', default: null });

function* paths(from: Value, rules: ExpansionRules, isOnce: boolean, context: ExecutionContext) {
  for (const step of expansion(startsOf(from), rules, isOnce, context))
    if (step === 'pause') yield 'pause' as const;
    else yield rowWith({ path: pathTo(step, context) });
}

export const pathProcedures: readonly Procedure[] = [
  reading({
    name: 'path.expand',
    description: 'Paths from a node by relationship types and labels',
    parameters: [start, optional('relTypes'), optional('labels'), optional('min'), optional('max')],
    columns: { path: 'PATH' },
    rows: ([from = null, relationshipFilter, labelFilter, minLevel, maxLevel], context) => {
      const options = { relationshipFilter, labelFilter, minLevel, maxLevel };
      return paths(from, rulesOf(options, context), false, context);
    },
  }),
  reading({
    name: 'path.expandConfig',
    description: 'Paths from a node by a map of rules',
    parameters: [start, config],
    columns: { path: 'PATH' },
    rows: ([from = null, options = null], context) =>
      paths(from, rulesOfConfig(options, context), false, context),
  }),
  reading({
    name: 'path.spanningTree',
    description: 'A path to each node within reach',
    parameters: [start, config],
    columns: { path: 'PATH' },
    rows: ([from = null, options = null], context) =>
      paths(from, rulesOfConfig(options, context), true, context),
  }),
  reading({
    name: 'path.subgraphNodes',
    description: 'Nodes within reach, each once',
    parameters: [start, config],
    columns: { node: 'NODE' },
    *rows([from = null, options = null], context) {
      const rules = rulesOfConfig(options, context);
      for (const step of expansion(startsOf(from), rules, true, context))
        if (step === 'pause') yield 'pause';
        else yield rowWith({ node: context.view.record(step.node) ?? null });
    },
  }),
  reading({
    name: 'path.subgraphAll',
    description: 'Nodes within reach, and the relationships between them',
    parameters: [start, config],
    columns: { nodes: 'LIST', relationships: 'LIST' },
    *rows([from = null, options = null], context) {
      const rules = rulesOfConfig(options, context);
      const found = new Set<Rid>();
      for (const step of expansion(startsOf(from), rules, true, context))
        if (step === 'pause') yield 'pause';
        else found.add(step.node);
      const relationships = yield* edgesBetween(found, rules, context);
      const nodes = [...found].map((rid) => context.view.record(rid) ?? null);
      yield rowWith({ nodes, relationships });
    },
  }),
];
