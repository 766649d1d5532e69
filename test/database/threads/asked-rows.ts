import type { RowForm, RowRenderer, RunOptions } from '#database/session.ts';
import { JsonWriter, NameCache } from '#http/answer/json-writer.ts';
import { JsonRowRenderer } from '#http/serializers/json-row-renderer.ts';
import { ColumnTemplates } from '#http/serializers/record.ts';
import type { Parameters, TestDatabase } from '../support/open-test-database.ts';

const names = new NameCache();
const templates = new ColumnTemplates();

export interface AskedRows {
  readonly json: string;
  readonly rowCount: number;
  readonly isCut: boolean;
  /** Of the state that the statement saw. */
  readonly index: number;
}

export interface Asked {
  readonly parameters?: Parameters;
  readonly options?: Partial<RunOptions>;
  readonly language?: string;
  readonly rowCountMax?: number;
  readonly form?: Partial<RowForm>;
  /** Rows are made in the main thread only. */
  readonly isHere?: boolean;
  /** Called when the first bytes are there. */
  readonly onFirst?: () => void | Promise<void>;
}

function hereOnly(renderer: JsonRowRenderer): RowRenderer {
  return {
    get length() {
      return renderer.length;
    },
    write: (batch, row) => renderer.write(batch, row),
    writeInPieces: (batch, row) => renderer.writeInPieces(batch, row),
  };
}

/** A statement as a door asks for it: its rows as bytes of JSON, which is what lets it move to a reader thread. */
export async function askedRows(
  db: TestDatabase,
  text: string,
  asked: Asked = {},
): Promise<AskedRows> {
  const { parameters, options, language, rowCountMax = Number.POSITIVE_INFINITY } = asked;
  const stream = await db.stream(text, parameters, options, language);
  try {
    const form = { layout: 'lines', typeHints: false, counts: false, ...asked.form } as const;
    const writer = new JsonWriter(db.database.formats(), 1024, names);
    const renderer = new JsonRowRenderer(writer, form, stream, templates);
    const rows = stream.rendered(asked.isHere ? hereOnly(renderer) : renderer, rowCountMax);
    const pieces: Buffer[] = [];
    const take = () => pieces.push(writer.take(1024));
    let isFirst = true;
    for (;;) {
      const pause = rows.write({ bytes: 64 * 1024, rows: 1000 });
      if (pause === 'long') for (const _ of rows.longRow()) take();
      if (writer.length > 0 && isFirst) {
        isFirst = false;
        await asked.onFirst?.();
      }
      take();
      if (pause === 'end' || (pause === 'batch' && !(await rows.pull()))) break;
    }
    const { index } = stream.summary();
    return {
      json: Buffer.concat(pieces).toString('utf8'),
      rowCount: rows.rowCount,
      isCut: rows.isCut,
      index,
    };
  } finally {
    stream.close();
  }
}
