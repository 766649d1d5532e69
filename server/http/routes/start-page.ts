import type { Resource } from './resource.ts';

/*
 * What a browser sees at the address of a server (house decision 57: `/` is the console's when it is installed).
 */

const page = (version: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Polyad</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:40em;margin:4em auto;padding:0 1em}code{background:#8882;padding:.1em .3em}</style>
<h1>Polyad ${version}</h1>
<p>A multi-model database: documents, vertices and edges in one engine. This server is running.</p>
<ul>
<li><a href="/api/v1/openapi.json">OpenAPI document</a> of the HTTP API below <code>/api/v1</code> (asks for credentials)</li>
<li><a href="/api/v1/server">Server</a>: version, metrics, settings (asks for credentials)</li>
<li><a href="/api/v1/databases">Databases</a> (asks for credentials)</li>
<li>Agents: <code>POST /api/v1/mcp</code>. Events and streamed inserts: <code>/ws</code>.</li>
</ul>
<p>First steps: <code>npx polyad sql school "SELECT 6 * 7"</code>, and the README of the package.</p>
</html>
`;

const headers = [
  'Content-Type',
  'text/html; charset=utf-8',
  'Cache-Control',
  'no-store',
  'Content-Security-Policy',
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
];

export const startPage: Resource = (scope, { door: { version } }, done) => {
  scope.get('/', { config: { access: 'public' } }, ({ exchange }, reply) => {
    reply.hijack();
    exchange.send(200, headers, Buffer.from(page(version)));
  });
  done();
};
