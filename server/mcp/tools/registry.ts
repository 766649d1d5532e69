import { fullTextSearch } from '../search/full-text-search.ts';
import { hybridSearch } from '../search/hybrid-search.ts';
import { vectorSearch } from '../search/vector-search.ts';
import type { ToolName } from '../policy/tool-names.ts';
import { getSchema } from './get-schema.ts';
import { listDatabases } from './list-databases.ts';
import { sampleRecords } from './sample-records.ts';
import {
  getServerSettings,
  profilerStart,
  profilerStatus,
  profilerStop,
  serverStatus,
  setServerSetting,
} from './server-tools.ts';
import { executeCommand, query } from './statements.ts';
import type { Tool } from './tool.ts';
import { upsertEntity, upsertRelationship } from './upserts.ts';

/** The tools of this version. */
const tools: readonly Tool[] = [
  listDatabases,
  getSchema,
  query,
  executeCommand,
  sampleRecords,
  vectorSearch,
  fullTextSearch,
  hybridSearch,
  upsertEntity,
  upsertRelationship,
  serverStatus,
  profilerStart,
  profilerStop,
  profilerStatus,
  getServerSettings,
  setServerSetting,
];

const byName = new Map<ToolName, Tool>(tools.map((tool) => [tool.name, tool]));

/** Undefined for a name that this version has no tool for. */
export function toolNamed(name: ToolName): Tool | undefined {
  return byName.get(name);
}
