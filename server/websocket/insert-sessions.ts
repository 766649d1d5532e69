import type { ClusterDoor } from '#cluster/cluster-door.ts';
import type { Settings } from '#config/effective-settings.ts';
import {
  serverHttpMarkerMaxDepth,
  serverWsInsertSessionExpireTimeout,
  serverWsMaxInsertChunkRows,
} from '#config/server-settings.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import { isList, type Value, type ValueList, type ValueMap } from '#core/value/value.ts';
import { rowErrorsMax } from '#database/inserts/insert-port.ts';
import type { DatabasesPort } from '#database/session.ts';
import { statementParameters } from '#http/request/typed-parameters.ts';
import type { GroupAuthorizer } from '#security/authorizer.ts';
import { mayNotRead } from './change-feed.ts';
import type { Client } from './client.ts';
import {
  errorFrame,
  FrameError,
  insertError,
  messageError,
  optionalText,
  requiredText,
} from './frames.ts';
import { startOptions } from './insert-options.ts';
import { InsertSession } from './insert-session.ts';

export interface InsertSessionsOptions {
  /** Undefined: a server on its own. */
  readonly cluster?: ClusterDoor | undefined;
  readonly databases: DatabasesPort;
  readonly authorizer: GroupAuthorizer;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly log: Log;
}

const idLengthMax = 128;
const noErrors: readonly never[] = [];

/** All streamed inserts of the server (websocket.md 4). One for each connection; one message of a connection at a time. */
export class InsertSessions {
  readonly #options: InsertSessionsOptions;
  readonly #sessions = new Map<string, InsertSession>();
  readonly #ofClient = new Map<Client, InsertSession>();

  constructor(options: InsertSessionsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#sessions.size;
  }

  has(client: Client): boolean {
    return this.#ofClient.has(client);
  }

  /** @throws FrameError, DatabaseError */
  start(client: Client, frame: ValueMap): void {
    const database = requiredText(frame, 'database');
    const given = optionalText(frame, 'sessionId');
    const options = startOptions(frame);
    const { databases, authorizer, runtime, settings } = this.#options;
    const { principal } = client;
    if (!authorizer.canAccess(principal, database)) throw mayNotRead(principal.name, database);
    const handle = databases.open(database);
    const id = this.#freeId(client, given);
    const depthMax = settings.get(serverHttpMarkerMaxDepth);
    const stream = handle.insertStream({
      ...options,
      principal,
      decode: (record) => statementParameters(record, depthMax),
    });
    const startedMs = runtime.clock.monotonicMs();
    const operation = databases.running.operations.start({
      database,
      operation: 'insert stream',
      stepCount: 1,
      user: principal.name,
      requestId: id,
    });
    operation.step('insert', undefined);
    const about = { id, client, database, options, stream, operation, startedMs };
    const session = new InsertSession(about);
    operation.signal.addEventListener('abort', () => this.#cancel(session));
    this.#sessions.set(id, session);
    this.#ofClient.set(client, session);
    const { transactionMode, conflictMode, validateOnly } = options;
    const modes = { transactionMode, conflictMode, validateOnly };
    answer(client, { action: 'started', sessionId: id, database, ...modes });
    this.#expireLater(session);
  }

  /** @throws FrameError, DatabaseError */
  async chunk(client: Client, frame: ValueMap): Promise<void> {
    const session = this.#sessionOf(client, frame);
    session.cancelExpiry();
    try {
      await this.#apply(session, frame);
    } finally {
      if (!session.isEnded) this.#expireLater(session);
    }
  }

  /** `commit` and `rollback`. @throws FrameError, DatabaseError when nothing was committed */
  async end(client: Client, frame: ValueMap, outcome: 'commit' | 'rollback'): Promise<void> {
    const session = this.#sessionOf(client, frame);
    this.#close(session);
    try {
      this.#requireAccess(session);
      if (outcome === 'commit') await session.stream.commit();
      else session.stream.rollback();
      session.operation.finish();
    } catch (error) {
      session.stream.rollback();
      session.operation.fail(error);
      throw error;
    }
    const summary = session.summary(this.#options.runtime.clock.monotonicMs());
    const about = { action: 'committed', sessionId: session.id, outcome, summary };
    answer(client, { ...about, ...this.#mark() });
  }

  /** The connection is gone: what is open is rolled back. */
  forget(client: Client): void {
    const session = this.#ofClient.get(client);
    if (session === undefined) return;
    this.#close(session);
    session.stream.rollback();
    session.operation.fail(new Error('the client has left'));
  }

  async #apply(session: InsertSession, frame: ValueMap): Promise<void> {
    const { client } = session;
    const sequence = frame.get('chunkSeq');
    if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || sequence < 1) {
      throw insertError("Property 'chunkSeq' must be an integer from 1");
    }
    const about = { action: 'batchAck', sessionId: session.id, chunkSeq: sequence };
    const expected = session.lastSequence + 1;
    if (sequence < expected) {
      const nothing = { received: 0, inserted: 0, updated: 0, ignored: 0, failed: 0 };
      answer(client, { ...about, ...nothing, errors: noErrors, replay: true });
      return;
    }
    if (sequence > expected) {
      throw insertError(`Expected chunkSeq ${expected}, received ${sequence}`);
    }
    const outcome = await this.#applied(session, this.#recordsOf(frame));
    session.note(outcome);
    const { isApplied: _, errors, ...counts } = outcome;
    const isCut = outcome.failed > rowErrorsMax && errors.length === rowErrorsMax;
    const cut = isCut ? { errorsTruncated: true } : {};
    answer(client, { ...about, ...counts, errors, ...cut, ...this.#mark() });
  }

  /** A bookmark of what is committed, as on the last line of `/batch`. */
  #mark(): { readonly commitIndex?: number } {
    const index = this.#options.cluster?.view.appliedIndex() ?? 0;
    return index > 0 ? { commitIndex: index } : {};
  }

  /** An error here ends the session; the stream has rolled back. */
  async #applied(session: InsertSession, records: ValueList) {
    try {
      this.#requireAccess(session);
      return await session.stream.apply(records);
    } catch (error) {
      this.#close(session);
      session.stream.rollback();
      session.operation.fail(error);
      throw error;
    }
  }

  /** Asked at each message: access may have been taken away since the last one. */
  #requireAccess({ client, database }: InsertSession): void {
    const { principal } = client;
    if (this.#options.authorizer.canAccess(principal, database)) return;
    throw mayNotRead(principal.name, database);
  }

  #recordsOf(frame: ValueMap): ValueList {
    const records = frame.get('records');
    if (records === undefined) throw messageError("Property 'records' is required.");
    if (!isList(records)) throw messageError("Property 'records' must be an array of objects");
    const rowsMax = this.#options.settings.get(serverWsMaxInsertChunkRows);
    if (records.length <= rowsMax) return records;
    throw insertError(
      `the chunk has ${records.length} records, ${serverWsMaxInsertChunkRows.key} is ${rowsMax}`,
    );
  }

  #sessionOf(client: Client, frame: ValueMap): InsertSession {
    const id = requiredText(frame, 'sessionId');
    const session = this.#sessions.get(id);
    if (session === undefined) {
      throw insertError(`Insert session '${id.slice(0, 200)}' not found or expired`);
    }
    if (session.client === client) return session;
    throw new FrameError(
      'Security error',
      `Insert session '${id}' belongs to another connection than this one of user '${client.principal.name}'`,
      'SecurityException',
    );
  }

  #freeId(client: Client, given: string | undefined): string {
    const own = this.#ofClient.get(client);
    if (own !== undefined) {
      throw insertError(`the connection has an open insert session already: '${own.id}'`);
    }
    if (given === undefined) return this.#options.runtime.random.uuid();
    if (given === '' || given.length > idLengthMax || /[^\P{C}]/u.test(given)) {
      throw insertError(`Property 'sessionId' must have 1 to ${idLengthMax} printable characters`);
    }
    if (this.#sessions.has(given)) throw insertError(`Insert session '${given}' already exists`);
    return given;
  }

  #close(session: InsertSession): void {
    session.isEnded = true;
    session.cancelExpiry();
    this.#sessions.delete(session.id);
    this.#ofClient.delete(session.client);
  }

  /** Counts from the end of the last message; a session whose connection is at work does not expire. */
  #expireLater(session: InsertSession): void {
    session.cancelExpiry();
    const limitMs = this.#options.settings.get(serverWsInsertSessionExpireTimeout);
    if (limitMs <= 0) return;
    session.cancelExpiry = this.#options.runtime.timers.after(limitMs, () => {
      if (session.client.isBusy) this.#expireLater(session);
      else this.#expire(session, limitMs);
    });
  }

  #expire(session: InsertSession, limitMs: number): void {
    this.#options.log.info('insert session expired', { database: session.database });
    const detail = `Insert session '${session.id}' was rolled back after ${limitMs} ms of inactivity`;
    this.#break(session, new FrameError('Insert session expired', detail));
  }

  /** Somebody ended it by its id; a chunk that is being written hears of it at its next pause. */
  #cancel(session: InsertSession): void {
    // With its database a session ends at its next message, which says what became of the database.
    if (session.isEnded || !this.#isOpen(session.database)) return;
    const detail = session.operation.entry().reason ?? 'cancelled';
    this.#break(session, new FrameError('Insert session cancelled', detail));
  }

  #isOpen(database: string): boolean {
    try {
      this.#options.databases.open(database);
      return true;
    } catch {
      return false;
    }
  }

  #break(session: InsertSession, reason: FrameError): void {
    this.#close(session);
    session.stream.rollback();
    session.operation.fail(new Error(reason.detail));
    session.client.send(errorFrame(reason, { sessionId: session.id }));
  }
}

function answer(client: Client, fields: Readonly<Record<string, unknown>>): void {
  client.send(JSON.stringify({ result: 'ok', ...fields }));
}

/** What an error frame names; whatever the client sent. */
export function sessionIdOf(frame: ValueMap): { readonly sessionId?: Value } {
  const sessionId = frame.get('sessionId');
  return sessionId === undefined ? {} : { sessionId };
}
