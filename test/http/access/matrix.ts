import assert from 'node:assert/strict';
import { controlCommands } from '#control/commands.ts';
import { WebSocket } from 'ws';
import {
  type Caller,
  callers,
  mayUse,
  outcomeOf,
  routeRequests,
  type WritingStatement,
  writingStatements,
} from './rules.ts';
import type { Asked, Asker, Given } from './asker.ts';

/*
 * Each route, each server command and each statement with side effects, by each kind of caller, sent to one server. What is expected
 * follows from `rules.ts`. Whatever a caller without the right tried, nothing may have changed.
 */

function agrees(expected: 401 | 403 | 'allowed', { status }: Given): boolean {
  return expected === 'allowed' ? status !== 401 && status !== 403 : status === expected;
}

/** @param isLeftOut routes that would change the server when they are allowed */
export async function tryRoutes(
  asker: Asker,
  isLeftOut: (route: string, caller: Caller) => boolean = () => false,
): Promise<void> {
  const wrong: string[] = [];
  for (const [route, request] of Object.entries(routeRequests)) {
    const [method = ''] = route.split(' ');
    for (const caller of callers) {
      if (isLeftOut(route, caller)) continue;
      // The token would be needed again.
      if (request.need === 'logout' && caller.via === 'token') continue;
      const expected = outcomeOf(caller, request.need);
      // One failed login after the other would lock the name; the right password comes in between.
      if (caller.name === 'a wrong password')
        await asker.ask('reader', { method: 'GET', path: '/databases' });
      const given = await asker.ask(caller.name, { method, ...request });
      if (!agrees(expected, given) && !isLockedOut(caller, given))
        wrong.push(`${route} by ${caller.name}: ${given.status}, not ${expected} ${given.text}`);
    }
  }
  assert.deepEqual(wrong, []);
}

/** An unknown user has no right password that would clear its failures; locked is 403, too. */
function isLockedOut(caller: Caller, { status, text }: Given): boolean {
  return caller.name === 'an unknown user' && status === 403 && text.includes('Too many failed');
}

/** Server commands are for root, but for the list of databases. */
export async function tryCommands(asker: Asker): Promise<void> {
  const wrong: string[] = [];
  for (const { phrase, access } of controlCommands) {
    const body = { command: `${phrase} school` };
    for (const caller of callers.filter(({ refused, isRoot }) => !refused && !isRoot)) {
      const given = await asker.ask(caller.name, { method: 'POST', path: '/server', body });
      const isRight = access === 'user' ? given.status !== 403 : given.status === 403;
      if (!isRight) wrong.push(`${phrase} by ${caller.name}: ${given.status} ${given.text}`);
    }
  }
  assert.deepEqual(wrong, []);
}

/** The ways in for a statement. */
const doors: Readonly<Record<string, (language: string, command: string) => Asked>> = {
  'GET /query': (language, command) => ({
    method: 'GET',
    path: `/query/school/${language}/${encodeURIComponent(command)}`,
  }),
  'POST /query': (language, command) => post('/query/school', { language, command }),
  'POST /query streamed': (language, command) => ({
    ...post('/query/school', { language, command }),
    headers: { accept: 'application/x-ndjson' },
  }),
  'POST /query with autoCommit': (language, command) =>
    post('/query/school', { language, command, autoCommit: true }),
  'POST /command': (language, command) => post('/command/school', { language, command }),
  'POST /command streamed': (language, command) => ({
    ...post('/command/school', { language, command }),
    headers: { accept: 'application/x-ndjson' },
  }),
  'POST /command without transaction': (language, command) =>
    post('/command/school', { language, command, autoCommit: false }),
  'POST /command with an id': (language, command) => ({
    ...post('/command/school', { language, command }),
    headers: { 'x-request-id': `${language} ${command}`.replaceAll('\n', ' ').slice(0, 100) },
  }),
  'POST /command later': (language, command) =>
    post('/command/school', { language, command, awaitResponse: false }),
};

/** One caller of each kind tries every door, the others the plain ones. */
function tries({ name }: Caller, door: string): boolean {
  const everywhere = ['reader', 'undefinedLevel', 'stranger', 'token that reads'];
  return everywhere.includes(name) || ['POST /query', 'POST /command'].includes(door);
}

function post(path: string, body: object): Asked {
  return { method: 'POST', path, body };
}

function* statements(): Generator<{ language: string; statement: WritingStatement }> {
  for (const [language, list] of Object.entries(writingStatements))
    for (const statement of list) yield { language, statement };
}

const without = (need: WritingStatement['need']) =>
  callers.filter(
    (caller) => !caller.refused && !caller.isRoot && outcomeOf(caller, need) !== 'allowed',
  );

/** Who lacks the right writes through no door. */
export async function tryStatements(asker: Asker): Promise<void> {
  const { body } = await asker.ask('root', { method: 'GET', path: '/server?mode=basic' });
  const languages = body['languages'] as readonly string[];
  const unruled = languages.filter((language) => !(language in writingStatements));
  assert.deepEqual(unruled, [], 'languages without statements in rules.ts');
  const before = await asker.fingerprint();
  const wrong: string[] = [];
  const unsupported = new Set<string>();
  for (const { language, statement } of statements()) {
    for (const caller of without(statement.need)) {
      for (const [door, requestOf] of Object.entries(doors)) {
        if (!tries(caller, door)) continue;
        const given = await asker.ask(caller.name, requestOf(language, statement.text));
        const isLater = door.endsWith('later') && mayUse(caller);
        const isRight = isLater
          ? given.status === 202 || given.status === 400
          : given.status === 403;
        if (isRight) continue;
        if (given.status === 400 && mayUse(caller)) {
          // Either the gate of /query, or nobody can do this; which of them is known below.
          if (!door.includes('/query') && !door.includes('streamed'))
            unsupported.add(statement.text);
          continue;
        }
        wrong.push(`${statement.text} by ${caller.name}, ${door}: ${given.status} ${given.text}`);
      }
    }
  }
  await asker.queueIsEmpty();
  assert.deepEqual(wrong, []);
  assert.deepEqual(await asker.fingerprint(), before, 'something was written');
  for (const { language, statement } of statements()) {
    if (!unsupported.has(statement.text)) continue;
    const given = await asker.ask(
      'root',
      post('/command/school', { language, command: `EXPLAIN ${statement.text}` }),
    );
    assert.equal(
      given.status,
      400,
      `${statement.text}: root may, the others get 400 instead of 403`,
    );
  }
}

/** Who lacks the right writes neither in a session, nor by batch, nor by WebSocket. */
export async function tryOtherDoors(asker: Asker, port: number): Promise<void> {
  const before = await asker.fingerprint();
  const wrong: string[] = [];
  const line = '{"@type":"v","@class":"P","@id":"t","n":66}\n';
  for (const caller of without(['createRecord'])) {
    const given = await asker.ask(caller.name, {
      method: 'POST',
      path: '/batch/school',
      headers: { 'content-type': 'application/x-ndjson' },
      body: line,
    });
    if (given.status !== 403) wrong.push(`batch by ${caller.name}: ${given.status} ${given.text}`);
    wrong.push(...(await writesBySocket(caller, { asker, port })));
    if (!mayUse(caller)) continue;
    const begin = async () => {
      const begun = await asker.ask(caller.name, post('/begin/school', {}));
      return { 'service-session-id': String(begun.headers['service-session-id']) };
    };
    let session = await begin();
    for (const { language, statement } of statements()) {
      if (outcomeOf(caller, statement.need) === 'allowed') continue;
      const request = post('/command/school', { language, command: statement.text });
      const tried = await asker.ask(caller.name, { ...request, headers: session });
      if (tried.status !== 403 && tried.status !== 400)
        wrong.push(`${statement.text} in a session by ${caller.name}: ${tried.status}`);
      // What only the run finds out ends the session (house decision 52).
      if (tried.headers['service-session-id'] === undefined) session = await begin();
    }
    await asker.ask(caller.name, { method: 'POST', path: '/commit/school', headers: session });
  }
  assert.deepEqual(wrong, []);
  assert.deepEqual(await asker.fingerprint(), before, 'something was written');
}

/** Tries each mode of a streamed insert. @returns what went wrong */
async function writesBySocket(
  caller: Caller,
  { asker, port }: { asker: Asker; port: number },
): Promise<string[]> {
  const authorization = asker.headerOf(caller.name) ?? '';
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers: { authorization } });
  const answers: ((frame: Readonly<Record<string, unknown>>) => void)[] = [];
  socket.on('message', (data) => answers.shift()?.(JSON.parse(String(data))));
  const ask = (frame: object) =>
    new Promise<Readonly<Record<string, unknown>>>((resolve) => {
      answers.push(resolve);
      socket.send(JSON.stringify(frame));
    });
  await new Promise((resolve, reject) => {
    socket.on('open', resolve);
    socket.on('error', reject);
  });
  const wrong: string[] = [];
  for (const transactionMode of ['per_stream', 'per_batch', 'per_row']) {
    const options = { targetType: 'P', transactionMode };
    const started = await ask({ action: 'start', database: 'school', options });
    if (!mayUse(caller)) {
      if (started['error'] !== 'Security error') wrong.push(`start: ${JSON.stringify(started)}`);
      continue;
    }
    const { sessionId } = started;
    const records = [{ n: 77 }];
    const chunk = await ask({ action: 'chunk', sessionId, chunkSeq: 1, records });
    if (chunk['inserted'] !== 0) wrong.push(`${transactionMode}: ${JSON.stringify(chunk)}`);
    await ask({ action: 'commit', sessionId });
  }
  socket.close();
  return wrong.map((what) => `${caller.name} by WebSocket: ${what}`);
}

/** Who has the right may. */
export async function tryAllowed(asker: Asker): Promise<void> {
  const wrong: string[] = [];
  const unknown: string[] = [];
  for (const { language, statement } of statements()) {
    const able = callers.filter(
      (caller) => !caller.isRoot && outcomeOf(caller, statement.need) === 'allowed',
    );
    // The weakest of them; the others would repeat it, and much can be done only once.
    const [caller] = able;
    assert(caller, statement.text);
    const request = post('/command/school', { language, command: statement.text });
    const given = await asker.ask(caller.name, request);
    if (given.status === 401 || given.status === 403)
      wrong.push(`${statement.text} by ${caller.name}: ${given.status} ${given.text}`);
    if (given.status === 400) unknown.push(`${statement.text}: ${given.text}`);
  }
  assert.deepEqual(wrong, []);
  // What this version refuses for everybody is at most what needs files or comes with other work.
  for (const line of unknown)
    assert.match(line, /^(IMPORT|EXPORT|BACKUP|DEFINE|CREATE TRIGGER|ALTER DATABASE)/);
}
