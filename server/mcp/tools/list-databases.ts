import { objectSchema, reads, type Tool } from './tool.ts';

export const listDatabases: Tool = {
  name: 'list_databases',
  description: 'Names of the databases that you may read.',
  inputSchema: objectSchema({}),
  annotations: reads,
  needs: [],
  run: ({ caller, server }) =>
    JSON.stringify({ databases: server.policy.readable(caller.principal) }),
};
