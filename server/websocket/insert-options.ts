import type { InsertOptions } from '#database/inserts/insert-port.ts';
import { isMap, type ValueMap } from '#core/value/value.ts';
import { insertError, messageError, optionalText, optionalTexts } from './frames.ts';

/** The options of `start` (websocket.md 4.1), without what the connection adds. */
export type StartOptions = Omit<InsertOptions, 'principal' | 'decode'>;

const transactionModes = {
  per_stream: 'per_stream',
  per_request: 'per_stream',
  per_batch: 'per_batch',
  per_row: 'per_row',
} as const;

const conflictModes = {
  error: 'error',
  abort: 'error',
  update: 'update',
  ignore: 'ignore',
} as const;

const none: ValueMap = new Map();

/** @throws FrameError naming what is accepted */
export function startOptions(frame: ValueMap): StartOptions {
  const given = frame.get('options') ?? none;
  if (!isMap(given)) throw messageError("Property 'options' must be an object");
  const transactionMode = mode(given, 'transactionMode', {
    values: transactionModes,
    prefix: /^(?:tx|transaction)_/,
    whenAbsent: 'per_stream',
  });
  const conflictMode = mode(given, 'conflictMode', {
    values: conflictModes,
    prefix: /^conflict_/,
    whenAbsent: 'error',
  });
  const keyColumns = [...new Set(optionalTexts(given, 'keyColumns') ?? [])];
  if (conflictMode === 'update' && keyColumns.length === 0) {
    throw insertError("conflictMode 'update' needs keyColumns, by which records are recognized");
  }
  return {
    targetType: optionalText(given, 'targetType'),
    transactionMode,
    conflictMode,
    keyColumns,
    updateColumns: optionalTexts(given, 'updateColumnsOnConflict'),
    validateOnly: flag(given, 'validateOnly'),
  };
}

/** Spelled in any case, with `-` for `_`, with or without its prefix. */
function mode<T extends string>(
  given: ValueMap,
  name: string,
  about: {
    readonly values: Readonly<Record<string, T>>;
    readonly prefix: RegExp;
    readonly whenAbsent: T;
  },
): T {
  const text = optionalText(given, name);
  if (text === undefined) return about.whenAbsent;
  const plain = text.trim().toLowerCase().replaceAll('-', '_').replace(about.prefix, '');
  const found = Object.hasOwn(about.values, plain) ? about.values[plain] : undefined;
  if (found !== undefined) return found;
  const accepted = Object.keys(about.values).join(', ');
  throw insertError(`Invalid ${name} '${text.slice(0, 100)}', accepted are: ${accepted}`);
}

function flag(given: ValueMap, name: string): boolean {
  const value = given.get(name) ?? false;
  if (typeof value === 'boolean') return value;
  throw messageError(`Property '${name}' must be a boolean`);
}
