import { rowsAllowed } from '../tools/statement-rows.ts';
import { databaseArgument, objectSchema, reads, type Tool, tellRows } from '../tools/tool.ts';
import { vectorLeg, vectorProperties, vectorQuestion } from './vector-leg.ts';

export const vectorSearch: Tool = {
  name: 'vector_search',
  description:
    'Records whose vectors are nearest to yours, from a dense (LSM_VECTOR) or a sparse (LSM_SPARSE_VECTOR) index.',
  inputSchema: objectSchema(
    {
      database: databaseArgument,
      indexName: { type: 'string', description: 'Name of the index, for example Doc[embedding]' },
      ...vectorProperties,
    },
    ['database', 'indexName', 'queryVector', 'k'],
  ),
  annotations: reads,
  needs: ['allowReads'],
  run: async (call) => {
    const database = call.arguments.requiredText('database');
    const question = vectorQuestion(call.arguments, 'indexName');
    call.server.policy.requireDatabase(call.caller.principal, database, ['allowReads']);
    const { k, isSparse } = question;
    const leg = await vectorLeg(call, database, { question, count: k });
    const measure = isSparse ? 'score' : 'distance';
    const most = rowsAllowed(call, database, k);
    const results = leg.hits
      .slice(0, most)
      .map(
        (hit) =>
          `{"rid":"${hit.rid}","type":${JSON.stringify(hit.type)},"${measure}":${hit.measure},"properties":${hit.properties}}`,
      );
    tellRows(call, results.length);
    const head = JSON.stringify({
      indexName: leg.index.name,
      sparse: isSparse,
      scoring: leg.scoring,
      candidateLimit: leg.candidateLimit,
      truncated: results.length === most,
      count: results.length,
    });
    return `${head.slice(0, -1)},"results":[${results.join(',')}]}`;
  },
};
