/** Every tool, in the order in which they are listed (mcp.md 1.4). */
export const toolNames = [
  'list_databases',
  'get_schema',
  'query',
  'execute_command',
  'sample_records',
  'vector_search',
  'full_text_search',
  'hybrid_search',
  'upsert_entity',
  'upsert_relationship',
  'server_status',
  'profiler_start',
  'profiler_stop',
  'profiler_status',
  'get_server_settings',
  'set_server_setting',
] as const;
export type ToolName = (typeof toolNames)[number];

export const profileNames = ['all', 'rag', 'admin'] as const;
export type ProfileName = (typeof profileNames)[number];

const everywhere: readonly ProfileName[] = ['all', 'rag', 'admin'];
const retrieval: readonly ProfileName[] = ['all', 'rag'];
const administration: readonly ProfileName[] = ['all', 'admin'];

/** Which profiles hold a tool (mcp.md 3). */
const profilesOf = {
  list_databases: everywhere,
  get_schema: everywhere,
  query: everywhere,
  execute_command: administration,
  sample_records: retrieval,
  vector_search: retrieval,
  full_text_search: retrieval,
  hybrid_search: retrieval,
  upsert_entity: retrieval,
  upsert_relationship: retrieval,
  server_status: administration,
  profiler_start: administration,
  profiler_stop: administration,
  profiler_status: administration,
  get_server_settings: administration,
  set_server_setting: administration,
} as const satisfies Record<ToolName, readonly ProfileName[]>;

export function isInProfile(tool: ToolName, profile: ProfileName): boolean {
  return profilesOf[tool].includes(profile);
}

export function isToolName(name: string): name is ToolName {
  return (toolNames as readonly string[]).includes(name);
}
