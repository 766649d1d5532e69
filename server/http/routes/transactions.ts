import { DatabaseError } from '#core/errors.ts';
import { HttpRefusal, withStatus } from '../answer/errors.ts';
import { objectField, readFields, schemaOfFields } from '../request/body-fields.ts';
import type { Exchange } from '../answer/exchange.ts';
import { beforeRead } from '../cluster/wanted-state.ts';
import { parseAnyJsonObject } from '../request/json-body.ts';
import { sessionHeader } from '../answer/statement-run.ts';
import { accessibleName, databaseOf } from './database-parameter.ts';
import { text } from '../document/schemas.ts';
import type { Answer, Route } from './route.ts';

// Transaction sessions (contract, States and transitions; http-api.md 8).

const isolations = ['READ_COMMITTED', 'REPEATABLE_READ'] as const;
type Isolation = (typeof isolations)[number];

const beginFields = {
  isolationLevel: objectField<Isolation>(
    {
      description: 'What the session sees of other transactions',
      schema: { type: 'string', enum: isolations, default: 'READ_COMMITTED' },
    },
    (value) => {
      const name = typeof value === 'string' ? value.toUpperCase() : undefined;
      const found = isolations.find((isolation) => isolation === name);
      if (found) return found;
      const shown = typeof value === 'string' ? `'${value.slice(0, 100)}'` : 'no string';
      throw new HttpRefusal({
        status: 400,
        error: `Invalid isolation level: ${shown}; use READ_COMMITTED or REPEATABLE_READ`,
      });
    },
  ),
};

const sessionAnswer: Answer = { description: 'Done; no body' };

export const begin: Route = {
  method: 'POST',
  path: '/begin/:database',
  access: 'user',
  place: 'leader',
  operation: {
    id: 'beginTransaction',
    waitsForState: true,
    summary: 'Opens a transaction session; its id is in header service-session-id',
    body: schemaOfFields(beginFields),
    bodyIsOptional: true,
    example: { body: { 'application/json': { isolationLevel: 'REPEATABLE_READ' } } },
    answers: {
      204: {
        description: 'Opened',
        headers: { [sessionHeader]: { description: 'Id of the session', schema: text() } },
      },
    },
  },
  handle: async (exchange) => {
    accessibleName(exchange);
    const bytes = await exchange.body();
    const database = databaseOf(exchange);
    refuseRunningSession(exchange, (id) => database.hasSession(exchange.principal, id));
    const body = await parseAnyJsonObject(exchange, bytes, {
      invalidStatus: 500,
      mayBeEmpty: true,
    });
    const { isolationLevel } = readFields(beginFields, body);
    // Statements of the session wait for nothing more (ha.md 7.1).
    await beforeRead(exchange);
    const id = databaseOf(exchange).begin(exchange.principal, isolationLevel ?? 'READ_COMMITTED');
    exchange.send(204, [sessionHeader, id], undefined);
  },
};

/** House decision 51: the 401 of a session that runs already; an unknown or ended id is ignored. */
function refuseRunningSession(exchange: Exchange, isLive: (id: string) => boolean): void {
  const id = exchange.header(sessionHeader);
  if (id !== undefined && isLive(id))
    throw new HttpRefusal({
      status: 401,
      error: 'Transaction already started',
      headers: [sessionHeader, id],
    });
}

export const commit: Route = {
  method: 'POST',
  path: '/commit/:database',
  access: 'user',
  operation: {
    id: 'commitTransaction',
    summary: 'Commits a transaction session and ends it',
    takesSession: true,
    answers: { 204: sessionAnswer },
  },
  handle: (exchange) => endSession(exchange, 'commit'),
};

export const rollback: Route = {
  method: 'POST',
  path: '/rollback/:database',
  access: 'user',
  operation: {
    id: 'rollbackTransaction',
    summary: 'Rolls a transaction session back and ends it',
    takesSession: true,
    answers: { 204: sessionAnswer },
  },
  handle: (exchange) => endSession(exchange, 'rollback'),
};

async function endSession(exchange: Exchange, how: 'commit' | 'rollback'): Promise<void> {
  const database = databaseOf(exchange);
  const id = exchange.header(sessionHeader) ?? '';
  if (id === '')
    throw new HttpRefusal({
      status: 500,
      error: 'Transaction not begun',
      detail: `header ${sessionHeader} is missing`,
      exception: 'TransactionException',
    });
  try {
    if (how === 'commit') await database.commit(exchange.principal, id);
    else await database.rollback(exchange.principal, id);
  } catch (error) {
    if (error instanceof DatabaseError && error.code === 'SessionNotFound')
      throw new HttpRefusal({
        ...withStatus(error, 500).refusal,
        exception: 'TransactionException',
      });
    throw error;
  }
  exchange.noContent();
}
