import { maskSecrets } from '#core/text/masked-text.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import { messageOf } from '#http/answer/errors.ts';
import { instructionsFor } from './content/instructions.ts';
import { getPrompt, listPrompts, promptsOf } from './content/prompts.ts';
import { listResources, readResource } from './content/resources.ts';
import { errorText, isObject, resultText, rpcCode, RpcFailure } from './protocol/json-rpc.ts';
import { type Json, joined, lengthOf, type Pieces, quoted } from './protocol/long-json.ts';
import { requestOf, type RpcRequest } from './protocol/message.ts';
import { isToolName } from './policy/tool-names.ts';
import { Arguments } from './tools/arguments.ts';
import { Budgets } from './tools/budgets.ts';
import { KeyedTurns } from './tools/keyed-turns.ts';
import { toolNamed } from './tools/registry.ts';
import { ToolMeter } from './tools/tool-meter.ts';
import type { Caller, Tool, ToolSurroundings } from './tools/tool.ts';
import { ToolFailure } from './tools/tool-failure.ts';

/** What is answered: nothing for notifications. */
export interface McpAnswer {
  /** Of the HTTP answer. */
  readonly status: 200 | 202 | 403 | 503;
  readonly text: Json | undefined;
}

const batchLengthMax = 100;
const protocolVersion = '2025-03-26';
const auditedArgumentsMax = 100;
const none: ValueMap = new Map();

const accepted: McpAnswer = { status: 202, text: undefined };

/** The methods of the protocol over parsed messages, whatever transport they came by (contract 2; mcp.md 1). */
export class McpServer {
  readonly #surroundings: ToolSurroundings;
  readonly #budgets: Budgets;
  readonly #meter = new ToolMeter();

  constructor(surroundings: Omit<ToolSurroundings, 'turns'>) {
    this.#surroundings = { ...surroundings, turns: new KeyedTurns() };
    this.#budgets = new Budgets(surroundings.settings, surroundings.runtime.clock);
    surroundings.telemetry?.add(() => this.#meter.families());
  }

  /** Answers a message, or a batch of them element by element. Does not throw. */
  async answer(message: Value, caller: Caller): Promise<McpAnswer> {
    if (!Array.isArray(message)) return this.#answerOne(message, caller);
    const batch = message as readonly Value[];
    if (batch.length === 0) return refusedWhole('Invalid Request: empty batch');
    if (batch.length > batchLengthMax)
      return refusedWhole(`Invalid Request: a batch holds at most ${batchLengthMax} messages`);
    const answers: McpAnswer[] = [];
    for (const element of batch) answers.push(await this.#answerOne(element, caller));
    const told = answers.filter(({ text }) => text !== undefined);
    const [first] = told;
    if (first === undefined) return accepted;
    const isOneRefusal = told.every(({ status }) => status === first.status);
    return {
      status: isOneRefusal ? first.status : 200,
      text: listOf(told.map(({ text }) => text ?? '')),
    };
  }

  async #answerOne(message: Value, caller: Caller): Promise<McpAnswer> {
    const request = requestOf(message);
    if (request === undefined) return accepted;
    const { id } = request;
    try {
      this.#admit(caller);
      if (request.problem !== undefined) throw request.problem;
      return { status: 200, text: resultText(id, await this.#result(request, caller)) };
    } catch (error) {
      const failure = this.#asFailure(error, caller);
      return { status: failure.status, text: errorText(id, failure.code, failure.message) };
    }
  }

  /** @throws RpcFailure */
  #admit({ principal }: Caller): void {
    const { policy } = this.#surroundings;
    if (!policy.configuration.enabled)
      throw new RpcFailure(rpcCode.invalidRequest, 'MCP server is disabled', 503);
    if (!policy.admits(principal))
      throw new RpcFailure(rpcCode.invalidRequest, 'User not authorized for MCP access', 403);
  }

  #result({ method, params }: RpcRequest, caller: Caller): Promise<Json> | Json {
    const { policy, runtime } = this.#surroundings;
    switch (method) {
      case 'initialize':
        return this.#initialize(caller);
      case 'ping':
        return '{}';
      case 'tools/list':
        return this.#listTools(caller);
      case 'tools/call':
        return this.#callTool(params, caller);
      case 'resources/list':
        return listResources(this.#surroundings, caller);
      case 'resources/read':
        return readResource(this.#surroundings, caller, params);
      case 'prompts/list':
        return listPrompts(policy, caller.principal);
      case 'prompts/get':
        return getPrompt({ policy, runtime }, caller.principal, params);
      default:
        throw new RpcFailure(rpcCode.methodNotFound, `Method not found: ${method.slice(0, 200)}`);
    }
  }

  #initialize({ principal }: Caller): string {
    const { policy, version, databases } = this.#surroundings;
    const tools = policy.tools(principal).filter((name) => toolNamed(name) !== undefined);
    return JSON.stringify({
      protocolVersion,
      serverInfo: { name: 'service', version },
      capabilities: {
        tools: { listChanged: false },
        resources: { listChanged: false, subscribe: false },
        prompts: { listChanged: false },
      },
      instructions: instructionsFor(tools, {
        languages: databases.languages(),
        hasPrompts: promptsOf(policy, principal).length > 0,
      }),
    });
  }

  #listTools({ principal }: Caller): string {
    const tools = this.#surroundings.policy
      .tools(principal)
      .map((name) => toolNamed(name))
      .filter((tool): tool is Tool => tool !== undefined);
    return JSON.stringify({
      tools: tools.map(({ name, description, inputSchema, annotations }) => ({
        name,
        description,
        inputSchema:
          typeof inputSchema === 'function' ? inputSchema(this.#surroundings) : inputSchema,
        annotations,
      })),
    });
  }

  async #callTool(params: ValueMap, caller: Caller): Promise<Json> {
    const name = params.get('name');
    if (typeof name !== 'string')
      throw new RpcFailure(rpcCode.invalidParams, "'name' must be a string");
    const given = params.get('arguments') ?? none;
    if (!isObject(given))
      throw new RpcFailure(rpcCode.invalidParams, "'arguments' must be an object");
    const told = { rows: 0 };
    try {
      const text = await this.#run(name, given, caller, told);
      const length = lengthOf(text);
      this.#budgets.gave(caller.principal.name, { rows: told.rows, bytes: length });
      this.#meter.observe(name, 'ok', { rows: told.rows, characters: length });
      this.#audit({ name, given, rows: told.rows, hasFailed: false }, caller);
      return toolResult(text, { isError: false });
    } catch (error) {
      const message = this.#toolMessage(error, caller);
      this.#meter.observe(name, 'failed', { rows: 0, characters: message.length });
      this.#audit({ name, given, rows: 0, hasFailed: true }, caller);
      return toolResult(message, { isError: true });
    }
  }

  #run(
    name: string,
    given: ValueMap,
    caller: Caller,
    told: { rows: number },
  ): Promise<Pieces> | Pieces {
    const server = this.#surroundings;
    const tool = isToolName(name) ? toolNamed(name) : undefined;
    if (tool === undefined) throw new ToolFailure(`Unknown tool: ${name.slice(0, 200)}`);
    server.policy.requireVisible(caller.principal, tool.name);
    this.#budgets.begin(caller.principal.name);
    return tool.run({ caller, server, arguments: new Arguments(given), told });
  }

  /**
   * Who called what, shortened and without secrets (security.md 6): each call in the log, those that change something or fail in
   * the server's events too, which are a file.
   */
  #audit(
    call: {
      readonly name: string;
      readonly given: ValueMap;
      readonly rows: number;
      readonly hasFailed: boolean;
    },
    { principal, requestId }: Caller,
  ): void {
    const { name, given, rows, hasFailed } = call;
    // The value of a setting may be a secret.
    const told = [...given].filter(
      ([argument]) => name !== 'set_server_setting' || argument === 'key',
    );
    const shown = shortened(told);
    const transport = principal.via === 'stdio' ? 'stdio' : 'http';
    const outcome = hasFailed ? 'failed' : `ok, ${rows} records`;
    const message = `MCP ${transport}: user '${principal.name}' called ${name.slice(0, 60)}(${maskSecrets(shown)}): ${outcome}`;
    const { log, events } = this.#surroundings;
    const isRead = isToolName(name) && toolNamed(name)?.annotations.readOnlyHint === true;
    if (isRead && !hasFailed) log.info(message, { requestId });
    else events.report('INFO', 'Security', message, null, requestId);
  }

  #toolMessage(error: unknown, caller: Caller): string {
    if (error instanceof ToolFailure) return error.message;
    if (error instanceof DatabaseError && error.code !== 'Internal') return messageOf(error);
    this.#report(error, caller);
    return `Internal error, request id ${caller.requestId}`;
  }

  #asFailure(error: unknown, caller: Caller): RpcFailure {
    if (error instanceof RpcFailure) return error;
    if (error instanceof ToolFailure) return new RpcFailure(rpcCode.invalidRequest, error.message);
    if (error instanceof DatabaseError && error.code !== 'Internal')
      return new RpcFailure(rpcCode.internal, `Internal error: ${messageOf(error)}`);
    this.#report(error, caller);
    return new RpcFailure(rpcCode.internal, `Internal error: request id ${caller.requestId}`);
  }

  #report(error: unknown, { requestId }: Caller): void {
    const { log, onInternalError } = this.#surroundings;
    log.error(`mcp: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, {
      requestId,
    });
    onInternalError(error);
  }
}

function toolResult(text: Pieces, { isError }: { readonly isError: boolean }): Json {
  return joined('{"content":[{"type":"text","text":', quoted(text), `}],"isError":${isError}}`);
}

function listOf(items: readonly Json[]): Json {
  return joined('[', ...items.flatMap((item, at) => (at === 0 ? [item] : [',', item])), ']');
}

function refusedWhole(message: string): McpAnswer {
  return { status: 200, text: errorText('null', rpcCode.invalidRequest, message) };
}

/** The beginnings of the arguments; long ones may be vectors of thousands of numbers. */
function shortened(given: readonly (readonly [name: string, value: Value])[]): string {
  const parts: string[] = [];
  let length = 0;
  for (const [name, value] of given) {
    const shown =
      typeof value === 'string'
        ? value.slice(0, auditedArgumentsMax)
        : Array.isArray(value)
          ? `[${value.length}]`
          : isObject(value)
            ? `{${value.size}}`
            : String(value);
    parts.push(`${name.slice(0, 60)}=${shown}`);
    length += shown.length;
    if (length > auditedArgumentsMax) break;
  }
  return parts.join(', ').slice(0, auditedArgumentsMax);
}
