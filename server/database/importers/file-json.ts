import { DatabaseError } from '#core/errors.ts';
import { parseJson, parseJsonBytes } from '#core/value/json-value.ts';
import type { Value } from '#core/value/value.ts';

/**
 * JSON that stands in a file. What is none is the fault of the file, not of the request that names it (http-api.md 12: 500).
 * @throws DatabaseError `Validation`
 */
export function fileJson(json: string | Uint8Array, depthMax: number): Value {
  try {
    return typeof json === 'string'
      ? parseJson(json, { depthMax })
      : parseJsonBytes(json, { depthMax });
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'IllegalArgument') throw error;
    throw new DatabaseError('Validation', error.message, { cause: error });
  }
}
