#!/bin/sh
# The tool server over standard input and output, for clients that start it as a child process (contract 2, Stdio transport).
# Settings come from SERVICE_SETTINGS; service.server.rootPassword is required. Messages of the log go to standard error.
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
node="$root/node_modules/.bin/node"
[ -x "$node" ] || node=node
exec "$node" "$root/server/main.ts" --mcp-stdio "$@"
