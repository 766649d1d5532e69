import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { DatabaseError } from '#core/errors.ts';
import type { HttpServer } from '#http/connection/server.ts';
import type { MountedRoutes } from '#http/routes/mounted-routes.ts';
import type { ConfigurationFile } from '#mcp/policy/configuration-file.ts';
import type { ToolSurroundings } from '#mcp/tools/tool.ts';
import type { Ground } from './ground.ts';

/**
 * The tool server, when it is a part of this distribution (contract 2): a server without the folder answers 404 on its paths.
 * A broken configuration disables it.
 */
export async function openTools(
  { paths, events }: Ground,
  isAlwaysEnabled: boolean,
): Promise<Tools | undefined> {
  if (!existsSync(join(import.meta.dirname, '..', 'mcp', 'http-routes.ts'))) return undefined;
  const { mcpDoor } = await import('#mcp/http-routes.ts');
  const { ConfigurationFile } = await import('#mcp/policy/configuration-file.ts');
  const configuration = new ConfigurationFile(paths.config, { isAlwaysEnabled });
  const problem = await configuration.load();
  if (problem !== undefined) events.report('CRITICAL', 'Server', problem);
  return { configuration, routes: mcpDoor(configuration) };
}

interface Tools {
  readonly configuration: ConfigurationFile;
  readonly routes: MountedRoutes;
}

/** Serves tools over standard input until its end, then stops the server. */
export async function serveStandardInput(
  door: Omit<ToolSurroundings, 'policy' | 'turns'>,
  tools: Tools | undefined,
  protocolOutput: Writable,
): Promise<void> {
  if (tools === undefined)
    throw new DatabaseError('InvalidSetting', 'this distribution has no tool server');
  const { StdioTransport } = await import('#mcp/stdio.ts');
  const { Policy } = await import('#mcp/policy/policy.ts');
  const policy = new Policy({ ...door, configuration: () => tools.configuration.current });
  await new StdioTransport({ ...door, policy }, protocolOutput).run(process.stdin);
}

/** Beside standard input the port may be another server's: tools are served without it then. */
export async function listenIfFree(
  http: HttpServer,
  mayBeTaken: boolean,
): Promise<number | undefined> {
  try {
    return await http.listen();
  } catch (error) {
    if (!mayBeTaken || !(error instanceof DatabaseError)) throw error;
    console.error(`polyad: ${error.message}; HTTP is not served`);
    return undefined;
  }
}
