import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basePath } from '#http/routes/route.ts';
import { type Json, type DocumentedOperation, OpenApiChecker } from '../support/openapi-checker.ts';
import { startSockets } from '../websocket/socket-fixture.ts';
import type { Answer, DoorFixture } from './door-fixture.ts';

/*
 * The OpenAPI document tells the truth: each example that it holds is sent to real doors over a real database, and each
 * answer fits its schema. (All other tests of the doors check their answers against it, too: `door-fixture.ts`.)
 */

interface Example {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The requests that the examples of an operation make: one for each form of the body. */
function examplesOf({ method, template, operation }: DocumentedOperation): readonly Example[] {
  const parameters = (operation['parameters'] ?? []) as readonly Json[];
  const query = new URLSearchParams();
  let path = template;
  for (const parameter of parameters) {
    const { name, in: place, example } = parameter;
    if (place === 'path') {
      assert.notEqual(example, undefined, `${template}: path parameter ${name} has no example`);
      path = path.replace(`{${name}}`, encodeURIComponent(String(example)));
    }
    if (place === 'query' && example !== undefined) query.set(String(name), String(example));
  }
  const target = query.size === 0 ? path : `${path}?${query}`;
  const body = operation['requestBody'] as Json | undefined;
  if (body === undefined) return [{ method, path: target, headers: {} }];
  return Object.entries(body['content'] as Json).map(([type, media]) => {
    const { example } = media as Json;
    assert.notEqual(example, undefined, `${method} ${template}: ${type} has no example`);
    return {
      method,
      path: target,
      headers: { 'content-type': type },
      body: typeof example === 'string' ? example : JSON.stringify(example),
    };
  });
}

/** Examples about something that does not run, or that a session is needed for. */
const refusedExamples: Readonly<Record<string, number>> = {
  cancelStatement: 404,
  cancelOperation: 404,
  commitTransaction: 500,
  rollbackTransaction: 500,
  // There is no cluster.
  getClusterStatus: 400,
  addClusterPeer: 400,
  removeClusterPeer: 400,
  transferClusterLeadership: 400,
  stepDownLeader: 400,
  leaveCluster: 400,
  promoteClusterPeer: 400,
  prepareStop: 400,
  resyncDatabase: 400,
  verifyClusterDatabase: 400,
  downloadSnapshot: 401,
};

function send(door: DoorFixture, { method, path, headers, body }: Example): Promise<Answer> {
  return door.ask(method, path, { headers, ...(body === undefined ? undefined : { body }) });
}

test('each documented example works, and its answer fits its schema', async (context) => {
  const { door, sql } = await startSockets(context);
  await sql('CREATE VERTEX TYPE Person');
  const { body: document } = await door.ask('GET', 'openapi.json');
  const checker = new OpenApiChecker(document);
  let count = 0;
  for (const operation of checker.operations) {
    const id = String(operation.operation['operationId']);
    for (const example of examplesOf(operation)) {
      const answer = await send(door, example);
      const contentType = answer.headers['content-type'];
      const { status, text } = answer;
      assert.deepEqual(checker.problems(operation, { status, contentType, text }), []);
      const wanted = refusedExamples[id];
      const isWanted = wanted === undefined ? status >= 200 && status < 300 : status === wanted;
      assert.ok(isWanted, `${id}: ${status} ${text}`);
      count += 1;
    }
  }
  assert.ok(count >= checker.operations.length);
});

test('what each documented operation refuses is as documented', async (context) => {
  const { door } = await startSockets(context);
  const { body: document } = await door.ask('GET', 'openapi.json');
  const checker = new OpenApiChecker(document);
  for (const operation of checker.operations) {
    for (const example of examplesOf(operation)) {
      const { method, path, headers } = example;
      const broken = ['{"a":', '[]', 'null', '"x"', '{"name":{},"command":[],"language":1}'];
      const asked = method === 'GET' ? [undefined] : broken;
      for (const body of asked)
        for (const user of ['root', 'jay', null]) {
          const options = { headers, user, ...(body === undefined ? undefined : { body }) };
          const { status, headers: own, text } = await door.ask(method, path, options);
          const answer = { status, contentType: own['content-type'], text };
          assert.deepEqual(checker.problems(operation, answer), []);
        }
    }
  }
});

test('every route is documented, but for those that only refuse or repeat another one', async (context) => {
  const { door } = await startSockets(context);
  const undocumented = door.server.routes
    .filter(({ operation, isAtRoot }) => operation === undefined && !isAtRoot)
    .map(({ method, path }) => `${method} ${basePath}${path}`);
  const expected = [
    'HEAD /ready',
    'HEAD /health',
    'GET /exists',
    'GET /progress',
    'GET /query',
    'POST /query',
    'POST /command',
    'POST /begin',
    'POST /commit',
    'POST /rollback',
    'POST /batch',
    'GET /query/:database/:language',
    'PUT /server/users/:name',
    'DELETE /server/users/:name',
    'POST /cluster/auth-session',
    'POST /cluster/bootstrap-state',
    'POST /cluster/capabilities',
    'POST /cluster/stage/:uuid',
    'GET /ha/snapshot/:database/checksums',
  ].map((route) => route.replace(' ', ` ${basePath}`));
  assert.deepEqual(undocumented.toSorted(), expected.toSorted());
});
