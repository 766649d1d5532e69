import type { ToolName } from '../policy/tool-names.ts';

/** What an agent is told when it connects; it names no tool that the agent does not have (contract 2, transport rule 6). */
export function instructionsFor(
  tools: readonly ToolName[],
  about: { readonly languages: readonly string[]; readonly hasPrompts: boolean },
): string {
  const preferred = about.languages.includes('cypher')
    ? 'cypher unless sql is asked for'
    : 'sql when you have no reason for another';
  const has = (...wanted: readonly ToolName[]) => wanted.filter((name) => tools.includes(name));
  const sentences = ['Never guess the name of a database: call list_databases.'];
  if (has('get_schema').length > 0)
    sentences.push(
      'Read get_schema or the resource service://{database}/schema before you write a query; names are exact.',
    );
  if (has('query').length > 0)
    sentences.push(
      `query reads in any language of the server (${about.languages.join(', ')}); use ${preferred}.`,
    );
  if (has('execute_command').length > 0) sentences.push('execute_command writes.');
  const search = has('vector_search', 'full_text_search', 'hybrid_search');
  if (search.length > 0)
    sentences.push(
      `For retrieval prefer ${search.join(', ')}. The server makes no embeddings: vectors are yours.`,
    );
  const upserts = has('upsert_entity', 'upsert_relationship');
  if (upserts.length > 0)
    sentences.push(
      `${upserts.join(' and ')} keep memory without duplicates, when writes are enabled.`,
    );
  sentences.push('When a result is empty, check the names again.');
  if (about.hasPrompts) sentences.push('prompts/list has guided tasks.');
  return sentences.join(' ');
}
