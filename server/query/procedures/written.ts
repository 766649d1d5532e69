import { DatabaseError } from '#core/errors.ts';
import type { Effect } from '#core/effects.ts';
import type { Procedure, ProcedureParameter } from './procedure.ts';

/** Procedures that a language writes as clauses (`language/cypher/analyze/written-call.ts`): here stands what their calls look like. */

const parameter = (name: string, type = 'ANY'): ProcedureParameter => ({ name, type });
const optional = (name: string, type = 'ANY'): ProcedureParameter => ({
  name,
  type,
  default: null,
});

function clauses(
  name: string,
  description: string,
  parameters: readonly ProcedureParameter[],
  column: { readonly name: string; readonly type: string },
  effects: readonly Effect[],
): Procedure {
  return {
    name,
    signature: { description, parameters, columns: [column] },
    effects,
    start() {
      throw new DatabaseError('NotSupported', `not supported: ${name} outside of Cypher`);
    },
  };
}

export const writtenProcedures: readonly Procedure[] = [
  clauses(
    'merge.node',
    'MERGE of a node with labels',
    [parameter('labels'), parameter('matchProps', 'MAP'), optional('createProps', 'MAP')],
    { name: 'node', type: 'NODE' },
    ['insert', 'update'],
  ),
  clauses(
    'merge.relationship',
    'MERGE of a relationship between two nodes',
    [
      parameter('start', 'NODE'),
      parameter('type'),
      parameter('matchProps', 'MAP'),
      parameter('createProps', 'MAP'),
      parameter('end', 'NODE'),
    ],
    { name: 'rel', type: 'RELATIONSHIP' },
    ['insert', 'update'],
  ),
  clauses(
    'do.when',
    'One of two queries',
    [
      parameter('condition', 'BOOLEAN'),
      parameter('ifQuery', 'STRING'),
      optional('elseQuery', 'STRING'),
      optional('params', 'MAP'),
    ],
    { name: 'value', type: 'MAP' },
    [],
  ),
];
