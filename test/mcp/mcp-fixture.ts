import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parseJson } from '#core/value/json-value.ts';
import type { ValueMap } from '#core/value/value.ts';
import { mcpDoor } from '#mcp/http-routes.ts';
import { ConfigurationFile } from '#mcp/policy/configuration-file.ts';
import { openTestDatabase, type TestDatabase } from '../database/support/open-test-database.ts';
import { type Answer, type Asked, type DoorFixture, startDoor } from '../http/door-fixture.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The outcome of a tool: its text, parsed when it is JSON. */
export interface ToolOutcome {
  readonly isError: boolean;
  readonly text: string;
  readonly json: Json;
}

export interface McpFixture {
  readonly door: DoorFixture;
  /** Its one database is `test`. */
  readonly data: TestDatabase;
  readonly configuration: ConfigurationFile;
  configure(change: Json): Promise<void>;
  post(body: unknown, asked?: Asked): Promise<Answer>;
  /** The response to one request. */
  rpc(method: string, params?: Json, asked?: Asked): Promise<Json>;
  tool(name: string, given?: Json, asked?: Asked): Promise<ToolOutcome>;
}

/** A tool server over HTTP in front of a real database, enabled. */
export async function startMcp(context: TestContext): Promise<McpFixture> {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-mcp-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const configuration = new ConfigurationFile(directory, { isAlwaysEnabled: false });
  await configuration.load();
  const configure = async (change: Json) => {
    await configuration.update(parseJson(JSON.stringify(change)) as ValueMap);
  };
  await configure({ enabled: true });
  let data: TestDatabase | undefined;
  const door = await startDoor(
    context,
    {},
    async (authorizer) => {
      data = await openTestDatabase({ authorizer });
      return data.databases;
    },
    undefined,
    undefined,
    mcpDoor(configuration),
  );
  if (data === undefined) throw new Error('no database');
  const opened = data;
  context.after(() => opened.close());
  const post = (body: unknown, asked: Asked = {}) =>
    door.ask('POST', 'mcp', {
      ...asked,
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const rpc = async (method: string, params: Json = {}, asked?: Asked) => {
    const answer = await post({ jsonrpc: '2.0', id: 1, method, params }, asked);
    return answer.body as Json;
  };
  return {
    door,
    data: opened,
    configuration,
    configure,
    post,
    rpc,
    tool: async (name, given = {}, asked) => {
      const { result } = await rpc('tools/call', { name, arguments: given }, asked);
      const { content, isError } = result as {
        content: readonly { text: string }[];
        isError: boolean;
      };
      const text = content[0]?.text ?? '';
      return { isError, text, json: isError ? {} : JSON.parse(text) };
    },
  };
}
