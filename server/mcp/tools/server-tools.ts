import { findSetting } from '#config/registry.ts';
import { serverName } from '#config/server-settings.ts';
import { ToolFailure } from './tool-failure.ts';
import { changes, objectSchema, reads, type Tool, type ToolCall } from './tool.ts';

// The server itself (mcp.md 4.11 to 4.16).

const hidden = '*****';

export const serverStatus: Tool = {
  name: 'server_status',
  description:
    'Version, name, languages and databases of the server; of a cluster who leads, for administration.',
  inputSchema: objectSchema({}),
  annotations: reads,
  needs: [],
  run: ({ caller, server }) => {
    const { cluster, policy } = server;
    const isTold = cluster !== undefined && policy.configuration.allowAdmin;
    return JSON.stringify({
      version: server.version,
      serverName: server.settings.get(serverName),
      languages: server.databases.languages(),
      databases: policy.readable(caller.principal),
      ...(isTold && { ha: cluster.report.roles() }),
    });
  },
};

/** They act on the whole server, so they are root's alone. @throws ToolFailure */
function requireAdmin({ caller, server }: ToolCall): void {
  server.policy.requireGlobal('allowAdmin');
  if (!caller.principal.isRoot) throw new ToolFailure('This tool is only for user root');
}

const secondsBounds = { min: 1, max: 3600 };

export const profilerStart: Tool = {
  name: 'profiler_start',
  description: 'Records what statements cost, for a while. It stops by itself.',
  inputSchema: objectSchema({
    timeoutSeconds: {
      type: 'integer',
      minimum: secondsBounds.min,
      maximum: secondsBounds.max,
      default: 60,
    },
  }),
  annotations: { ...changes, destructiveHint: false },
  needs: ['allowAdmin'],
  run: (call) => {
    const seconds = call.arguments.integer('timeoutSeconds', secondsBounds);
    requireAdmin(call);
    return JSON.stringify(call.server.profiler.start(seconds));
  },
};

export const profilerStop: Tool = {
  name: 'profiler_stop',
  description: 'Ends the recording and returns what was measured, by statement.',
  inputSchema: objectSchema({}),
  annotations: { ...changes, destructiveHint: false },
  needs: ['allowAdmin'],
  run: async (call) => {
    requireAdmin(call);
    return JSON.stringify(await call.server.profiler.stop());
  },
};

export const profilerStatus: Tool = {
  name: 'profiler_status',
  description: 'Whether the profiler records, and what it has measured.',
  inputSchema: objectSchema({}),
  annotations: reads,
  needs: ['allowAdmin'],
  run: (call) => {
    requireAdmin(call);
    return JSON.stringify(call.server.profiler.results());
  },
};

export const getServerSettings: Tool = {
  name: 'get_server_settings',
  description: 'All settings of the server with their values and defaults; secrets are masked.',
  inputSchema: objectSchema({}),
  annotations: reads,
  needs: ['allowReads'],
  run: ({ server }) => {
    server.policy.requireGlobal('allowReads');
    return JSON.stringify({ settings: server.settings.report('server') });
  },
};

export const setServerSetting: Tool = {
  name: 'set_server_setting',
  description: 'Changes a setting of the server until it stops.',
  inputSchema: objectSchema(
    { key: { type: 'string' }, value: { type: 'string', description: 'The new value, as text' } },
    ['key', 'value'],
  ),
  annotations: changes,
  needs: ['allowAdmin'],
  run: (call) => {
    const key = call.arguments.requiredText('key').trim();
    const value = call.arguments.text('value');
    if (value === undefined) throw new ToolFailure("'value' is required");
    requireAdmin(call);
    const spec = findSetting(key);
    if (spec === undefined) throw new ToolFailure(`Unknown server setting: ${key.slice(0, 200)}`);
    const { previous, current } = call.server.settings.set(spec, value);
    const shown = (given: unknown) => (spec.secret ? hidden : spec.format(given));
    const also =
      spec.reload === 'restart'
        ? ' It is read when the server starts, so this has no effect yet.'
        : '';
    return JSON.stringify({
      key: spec.key,
      previousValue: shown(previous),
      newValue: shown(current),
      message: `Setting '${spec.key}' updated successfully.${also}`,
    });
  },
};
