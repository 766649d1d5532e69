import type { ValueMap } from '#core/value/value.ts';
import { type Json, joined, quoted } from '../protocol/long-json.ts';
import { rpcCode, RpcFailure } from '../protocol/json-rpc.ts';
import { Arguments } from '../tools/arguments.ts';
import type { Caller, ToolSurroundings } from '../tools/tool.ts';
import { schemaDocument } from './schema-document.ts';

// Read-only documents: the schema of each database (contract 2, Resources; mcp.md 6).

const mimeType = 'application/json';

/** Databases whose policy denies reading are left out. */
export function listResources(server: ToolSurroundings, { principal }: Caller): string {
  const resources = server.policy.readable(principal).map((database) => ({
    uri: `service://${encodeURIComponent(database)}/schema`,
    name: `${database} schema`,
    description: `Types, properties and indexes of database '${database}'`,
    mimeType,
  }));
  return JSON.stringify({ resources });
}

/**
 * One answer for a database that does not exist, one that the caller may not read and an address that is none.
 * @throws RpcFailure
 */
export async function readResource(
  server: ToolSurroundings,
  caller: Caller,
  params: ValueMap,
): Promise<Json> {
  const uri = params.get('uri');
  if (typeof uri !== 'string')
    throw new RpcFailure(rpcCode.invalidParams, "'uri' must be a string");
  if (!server.policy.configuration.allowReads)
    throw new RpcFailure(
      rpcCode.invalidRequest,
      'Read operations are not allowed by MCP configuration',
    );
  const database = databaseOf(uri);
  // Asked for a name that nobody has, too, so that all refusals cost the same.
  const mayRead = server.policy.canRead(caller.principal, database ?? '');
  if (database === undefined || !mayRead) throw notFound(uri);
  const text = await schemaDocument({ caller, server, arguments: none }, database);
  return joined(
    `{"contents":[{"uri":${JSON.stringify(uri)},"mimeType":"${mimeType}","text":`,
    quoted(text),
    '}]}',
  );
}

/** A longer one names nothing: a character of a name is at most 12 of an address, and names have at most 256. */
const uriLengthMax = 4096;

const none = new Arguments(new Map());

function notFound(uri: string): RpcFailure {
  return new RpcFailure(rpcCode.resourceNotFound, `Resource not found: ${uri}`);
}

/** The database of `service://{database}/schema`; undefined for any other address. */
function databaseOf(uri: string): string | undefined {
  if (uri.length > uriLengthMax) return undefined;
  const encoded = /^service:\/\/([^/?#]+)\/schema$/.exec(uri)?.[1];
  if (encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
