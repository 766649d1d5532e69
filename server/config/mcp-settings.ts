import { integerSetting, sizeSetting } from './setting.ts';

/* Settings of the tool server (mcp.md); who may do what is in `config/mcp-config.json`. */

const MiB = 1024 * 1024;

export const mcpMaxResultSize = sizeSetting('mcp.maxResultSize', {
  default: 16 * MiB,
  min: 1024,
  description: 'Largest result of one tool call, as JSON',
});
export const mcpMaxCallsPerMinute = integerSetting('mcp.maxCallsPerMinute', {
  default: 0,
  min: 0,
  description: 'Tool calls that one principal may make in a minute; 0: no limit',
});
export const mcpMaxRowsPerMinute = integerSetting('mcp.maxRowsPerMinute', {
  default: 0,
  min: 0,
  description: 'Records that one principal may get from tools in a minute; 0: no limit',
});
export const mcpMaxBytesPerMinute = sizeSetting('mcp.maxBytesPerMinute', {
  default: 0,
  min: 0,
  description: 'Bytes of results that one principal may get from tools in a minute; 0: no limit',
});
