import { serverHttpJsonMaxDepth } from '#config/server-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { loadOnDemand } from '#core/load-on-demand.ts';
import { parseJsonInSlices } from '#core/value/json-slices.ts';
import { parseJsonBytes } from '#core/value/json-value.ts';
import type { Value } from '#core/value/value.ts';
import { badRequest, HttpRefusal, messageOf, notOnline } from '#http/answer/errors.ts';
import type { Exchange } from '#http/answer/exchange.ts';
import { leadsHere, sendOn } from '#http/cluster/sent-on.ts';
import { beforeRead } from '#http/cluster/wanted-state.ts';
import { requireUser } from '#http/request/authenticate.ts';
import { corsHeaders } from '#http/request/cors.ts';
import { shared } from '#http/document/schemas.ts';
import type { Door } from '#http/door.ts';
import { objectBody } from '#http/request/input-schema.ts';
import { joinedPieces } from '#http/request/joined-pieces.ts';
import { isLongBody } from '#http/request/json-body.ts';
import type { Resource } from '#http/routes/resource.ts';
import { type PathOwner, basePath, type Route } from '#http/routes/route.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { ConfigurationFile } from './policy/configuration-file.ts';
import { isAcceptedMcpOrigin } from './policy/origin.ts';
import { callsLeader } from './policy/placement.ts';
import { Policy } from './policy/policy.ts';
import { errorText, rpcCode } from './protocol/json-rpc.ts';
import { bytesOf, type Json } from './protocol/long-json.ts';
import type { McpServer } from './server.ts';

/*
 * The tool server over HTTP (contract 2, POST /api/v1/mcp; mcp.md 1 and 2). Checks come in the order of mcp.md 1.1: method and
 * origin before credentials, so that a page of another site learns nothing.
 */

const mcpPath = '/mcp';
const configPath = '/mcp/config';
/** What a client of the protocol sends. */
const pageRequestHeaders =
  'Authorization, Content-Type, Accept, X-Request-Id, Mcp-Session-Id, MCP-Protocol-Version';
const jsonType = ['Content-Type', 'application/json', 'Cache-Control', 'no-store'];

const tools = loadOnDemand<typeof import('./server.ts')>(import.meta.url, './server.ts');

/** What the HTTP door mounts. */
export interface McpDoor {
  readonly routes: readonly Route[];
  readonly resources: readonly Resource[];
  readonly owners: readonly PathOwner[];
}

export function mcpDoor(configuration: ConfigurationFile): McpDoor {
  let server: McpServer | undefined;
  const serverOf = (door: Door) => {
    server ??= new (tools().McpServer)({
      ...door,
      policy: new Policy({
        configuration: () => configuration.current,
        authorizer: door.authorizer,
        databases: door.databases,
      }),
    });
    return server;
  };
  return {
    routes: [mcpPost(configuration, serverOf)],
    resources: [configResource(configuration, serverOf)],
    owners: [
      {
        path: basePath + mcpPath,
        methods: ['POST'],
        refuse: (exchange) => answerOtherMethod(exchange, configuration),
      },
      { path: basePath + configPath, methods: ['GET', 'POST'], refuse: refuseConfigMethod },
    ],
  };
}

const rpcMessage = shared('JsonRpcMessage');

/** By the tool server as an error of JSON-RPC, or before it as any other request. */
function refusedBy(description: string) {
  const batch = { type: 'array', items: rpcMessage };
  return { description, schema: { anyOf: [rpcMessage, batch, shared('ErrorResponse')] } };
}

function mcpPost(configuration: ConfigurationFile, serverOf: (door: Door) => McpServer): Route {
  return {
    method: 'POST',
    path: mcpPath,
    access: 'public',
    operation: {
      id: 'invokeMcp',
      takesCredentials: true,
      waitsForState: true,
      summary:
        'The Model Context Protocol, revision 2025-03-26: JSON-RPC 2.0, one message or a batch',
      body: rpcMessage,
      answers: {
        200: {
          description: 'The response, or an array of them',
          schema: { oneOf: [rpcMessage, { type: 'array', items: rpcMessage }] },
        },
        202: { description: 'Nothing but notifications' },
        403: refusedBy('The origin, the credentials, or the list of users'),
        503: refusedBy('The tool server is disabled, or the server is busy'),
      },
    },
    handle: async (exchange, door) => {
      if (!isFromAcceptedPage(exchange, configuration)) {
        await answerJson(
          exchange,
          403,
          errorText('null', rpcCode.invalidRequest, 'Origin not allowed'),
        );
        return;
      }
      if (!door.control.isOnline) throw new HttpRefusal(notOnline(door.control.isStopping));
      await requireUser(exchange);
      await slotFor(exchange);
      const message = await parsed(exchange, await exchange.body());
      if (message.problem !== undefined) {
        await answerJson(exchange, 200, errorText('null', rpcCode.parse, message.problem));
        return;
      }
      const { cluster } = door;
      const isForLeader = cluster && !leadsHere(cluster) && callsLeader(message.value);
      if (isForLeader && (await sendOn(exchange, { kind: 'leader' }))) return;
      await beforeRead(exchange);
      const { status, text } = await serverOf(door).answer(message.value, {
        principal: exchange.principal,
        requestId: exchange.requestId,
        signal: exchange.connection.signal,
      });
      const page = pageHeaders(exchange, configuration);
      if (text === undefined) exchange.send(status, page, undefined);
      else if (page.length > 0)
        exchange.send(status, [...jsonType, ...page], await written(exchange, text));
      else await answerJson(exchange, status, text);
    },
  };
}

function isFromAcceptedPage({ request }: Exchange, configuration: ConfigurationFile): boolean {
  const { origin, host } = request.headers;
  return isAcceptedMcpOrigin({
    origin,
    host,
    isSecure: 'encrypted' in request.socket,
    allowedOrigins: configuration.current.allowedOrigins,
  });
}

function slotFor(exchange: Exchange): Promise<void> {
  return new Promise((resolve) => exchange.connection.whenSlotIsFree(resolve));
}

type Parsed =
  | { readonly value: Value; readonly problem?: undefined }
  | { readonly problem: string };

async function parsed(exchange: Exchange, bytes: Uint8Array): Promise<Parsed> {
  if (bytes.length === 0) return { problem: 'Parse error: empty request body' };
  const { settings, runtime } = exchange.door;
  const limits = { depthMax: settings.get(serverHttpJsonMaxDepth) };
  try {
    const hold = (made: number) => exchange.hold(made);
    const value = isLongBody(bytes)
      ? await parseJsonInSlices(bytes, { ...limits, hold }, new SliceTimer(runtime))
      : parseJsonBytes(bytes, limits);
    return { value };
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code === 'Busy') throw error;
    return { problem: `Parse error: ${messageOf(error)}` };
  }
}

async function answerJson(exchange: Exchange, status: number, json: Json): Promise<void> {
  const body = typeof json === 'string' ? Buffer.from(json) : await written(exchange, json);
  if (status === 200) exchange.json(status, body);
  else exchange.send(status, jsonType, body);
}

async function written({ door }: Exchange, json: Json): Promise<Uint8Array> {
  const slices = new SliceTimer(door.runtime);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytesOf(json, slices)) {
    pieces.push(piece);
    length += piece.length;
  }
  return joinedPieces(pieces, length, slices);
}

/** A page that may speak to the tool server may read its answers (house decision 70). */
function pageHeaders(exchange: Exchange, configuration: ConfigurationFile): readonly string[] {
  const origin = exchange.header('origin');
  if (origin === undefined || corsHeaders(exchange).length > 0) return [];
  if (!isFromAcceptedPage(exchange, configuration)) return [];
  return ['Access-Control-Allow-Origin', origin, 'Vary', 'Origin'];
}

/** The question of a browser before it lets an accepted page speak; anything else but POST is refused. */
function answerOtherMethod(exchange: Exchange, configuration: ConfigurationFile): void {
  const allowed = pageHeaders(exchange, configuration);
  const asked = exchange.header('access-control-request-method');
  if (exchange.request.method !== 'OPTIONS' || asked === undefined || allowed.length === 0) {
    refuseMethod(exchange);
    return;
  }
  const also = ['Access-Control-Allow-Methods', 'POST', 'Access-Control-Max-Age', '600'];
  const headers = ['Access-Control-Allow-Headers', pageRequestHeaders];
  exchange.send(204, [...allowed, ...also, ...headers], undefined);
}

function refuseMethod(exchange: Exchange): void {
  const body = errorText('null', rpcCode.invalidRequest, 'Method not allowed');
  const headers = [...jsonType, 'Allow', 'POST', 'Connection', 'close'];
  exchange.send(405, headers, Buffer.from(String(body)));
}

function refuseConfigMethod(exchange: Exchange): void {
  exchange.refuse({ status: 405, error: 'Method not allowed', headers: ['Allow', 'GET, POST'] });
}

const configurationSchema = shared('McpConfig');

function configResource(
  configuration: ConfigurationFile,
  serverOf: (door: Door) => McpServer,
): Resource {
  return (scope, { door }, done) => {
    scope.get(
      configPath,
      {
        config: { access: 'root' },
        schema: {
          operationId: 'getMcpConfig',
          summary: 'Who may do what over the tool protocol',
          response: { 200: { description: 'The configuration', schema: configurationSchema } },
        },
      },
      async () => configuration.current,
    );

    scope.post(
      configPath,
      {
        config: { access: 'root' },
        schema: {
          operationId: 'updateMcpConfig',
          summary: 'Changes fields of the configuration; in force with the next request',
          body: objectBody({ type: 'object', additionalProperties: true }),
          example: { body: { 'application/json': { allowedUsers: ['root'] } } },
          response: {
            200: { description: 'The whole configuration', schema: configurationSchema },
          },
        },
      },
      async ({ exchange, body: change }) => {
        try {
          const changed = await configuration.update(change);
          // The modules of the tool server are loaded now and not by the first call.
          if (configuration.current.enabled) serverOf(door);
          const message = `User '${exchange.principal.name}' changed the MCP configuration: ${[...change.keys()].join(', ').slice(0, 200)}`;
          door.events.report('INFO', 'Security', message, null, exchange.requestId);
          return changed;
        } catch (error) {
          if (error instanceof DatabaseError) throw badRequest(error.message);
          throw error;
        }
      },
    );
    done();
  };
}
