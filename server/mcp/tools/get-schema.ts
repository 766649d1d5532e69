import { schemaDocument } from '../content/schema-document.ts';
import { databaseArgument, objectSchema, reads, type Tool } from './tool.ts';

export const getSchema: Tool = {
  name: 'get_schema',
  description:
    'Types of a database with their properties and indexes. Read it before you write a query: names are exact.',
  inputSchema: objectSchema({ database: databaseArgument }, ['database']),
  annotations: reads,
  needs: ['allowReads'],
  run: (call) => {
    const database = call.arguments.requiredText('database');
    call.server.policy.requireDatabase(call.caller.principal, database, ['allowReads']);
    return schemaDocument(call, database);
  },
};
