import type { Value, ValueMap } from '#core/value/value.ts';
import type { ExecutionContext, RowFile } from '../operators/operator.ts';
import { argumentFault } from './define.ts';
import type { Procedure, ProcedureRows } from './procedure.ts';

/** LOAD CSV (cypher.md 3.2); no text can name it. */
export const loadCsvProcedure: Procedure = {
  name: '#load.csv',
  signature: {
    description: 'Rows of a file',
    parameters: [
      { name: 'url', type: 'STRING' },
      { name: 'hasHeaders', type: 'BOOLEAN' },
      { name: 'delimiter', type: 'STRING' },
    ],
    columns: [
      { name: 'row', type: 'ANY' },
      { name: 'line', type: 'INTEGER' },
      { name: 'file', type: 'STRING' },
    ],
  },
  effects: [],
  start([url, hasHeaders, delimiter], context) {
    if (typeof url !== 'string') throw argumentFault('LOAD CSV needs the text of a URL');
    const file = context.openRows({ url, delimiter: String(delimiter) });
    return new CsvRecords(file, hasHeaders === true, context);
  },
};

class CsvRecords implements ProcedureRows {
  readonly #file: RowFile;
  readonly #context: ExecutionContext;
  readonly #hasHeaders: boolean;
  #names: readonly (string | null)[] | undefined;

  constructor(file: RowFile, hasHeaders: boolean, context: ExecutionContext) {
    this.#file = file;
    this.#hasHeaders = hasHeaders;
    this.#context = context;
  }

  next(): ValueMap | 'pause' | undefined {
    const row = this.#file.next();
    if (row === undefined) return undefined;
    if ('over' in row) {
      this.#context.pending.wait = row;
      return 'pause';
    }
    const { fields, line } = row;
    if (this.#hasHeaders && this.#names === undefined) {
      this.#names = fields;
      return this.next();
    }
    return new Map<string, Value>([
      [
        'row',
        this.#names === undefined
          ? fields.map((field) => field ?? '')
          : namedFields(this.#names, fields),
      ],
      ['line', line],
      ['file', this.#file.name],
    ]);
  }

  close(): void {
    this.#file.close();
  }
}

/** A field that is not there is null; one without a name is left out. */
function namedFields(
  names: readonly (string | null)[],
  fields: readonly (string | null)[],
): ValueMap {
  const map = new Map<string, Value>();
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at];
    if (name !== null && name !== undefined) map.set(name, fields[at] ?? null);
  }
  return map;
}
