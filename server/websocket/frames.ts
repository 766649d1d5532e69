import { serverMode } from '#config/server-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import { isList, type Value, type ValueMap } from '#core/value/value.ts';

// What travels over the socket: JSON objects, one per text message (websocket.md 2, 4.7).

/** A message that cannot be carried out; the client is told, and the connection stays. */
export class FrameError {
  /** The short category, field `error`. */
  readonly error: string;
  readonly detail: string;
  readonly exception: string | undefined;

  constructor(error: string, detail: string, exception?: string) {
    this.error = error;
    this.detail = detail;
    this.exception = exception;
  }
}

/** A required property is missing, or one has the wrong type. */
export function messageError(detail: string): FrameError {
  return new FrameError('Message error', detail, 'IllegalArgumentException');
}

/** A streamed insert that cannot go on in this way. */
export function insertError(detail: string): FrameError {
  return new FrameError('Insert session error', detail, 'IllegalArgumentException');
}

/** @throws FrameError when it is missing or no text */
export function requiredText(frame: ValueMap, name: string): string {
  const text = optionalText(frame, name);
  if (text === undefined) throw messageError(`Property '${name}' is required.`);
  return text;
}

/** Undefined when it is missing or null. @throws FrameError when it is no text */
export function optionalText(frame: ValueMap, name: string): string | undefined {
  const value = frame.get(name) ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw messageError(`Property '${name}' must be a string`);
}

/** Undefined when it is missing or null. @throws FrameError when it is no array of texts */
export function optionalTexts(frame: ValueMap, name: string): readonly string[] | undefined {
  const value = frame.get(name) ?? undefined;
  if (value === undefined) return undefined;
  if (isList(value) && value.every((item) => typeof item === 'string')) {
    return value as readonly string[];
  }
  throw messageError(`Property '${name}' must be an array of strings`);
}

/**
 * An error of any kind as its category, without what production hides.
 * @param requestId of the handshake, which the line in the log carries, too
 */
export function asFrameError(
  error: unknown,
  settings: SettingsReader,
  requestId: string,
): FrameError {
  if (error instanceof FrameError) return error;
  if (!(error instanceof DatabaseError) || error.code === 'Internal') {
    const isHidden = settings.get(serverMode) === 'production';
    const message = error instanceof Error ? error.message : String(error);
    const detail = isHidden ? `See the server log, request id ${requestId}` : message;
    return new FrameError('Internal error', detail, 'InternalException');
  }
  const isSecurity = error.code === 'Forbidden' || error.code === 'Unauthorized';
  return new FrameError(
    isSecurity ? 'Security error' : 'Database error',
    error.message,
    error.exception,
  );
}

/** The answer to a message that failed; `insert` is set for those of streamed inserts. */
export function errorFrame(error: FrameError, insert?: { readonly sessionId?: Value }): string {
  const { sessionId } = insert ?? {};
  return JSON.stringify({
    result: 'error',
    action: insert === undefined ? undefined : 'error',
    error: error.error,
    detail: error.detail,
    sessionId: typeof sessionId === 'string' ? sessionId.slice(0, 200) : undefined,
    exception: error.exception,
  });
}
