import { request } from 'node:http';
import { Readable } from 'node:stream';
import type { SpineData, SpinePart } from './data.ts';
import { HttpClient } from '../../support/server-process.ts';

export const benchDatabase = 'spine';

export const spineSchema: readonly string[] = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.id INTEGER',
  'CREATE PROPERTY Person.name STRING',
  'CREATE PROPERTY Person.age INTEGER',
  'CREATE PROPERTY Person.city STRING',
  'CREATE PROPERTY Person.score DOUBLE',
  'CREATE INDEX ON Person (id) UNIQUE',
  'CREATE EDGE TYPE KNOWS',
  'CREATE PROPERTY KNOWS.since INTEGER',
  'CREATE DOCUMENT TYPE Log',
  'CREATE VERTEX TYPE Visit',
];

/** Creates the database and its types and streams persons and edges through `/batch`. */
export async function uploadSpine(port: number, password: string, data: SpineData): Promise<void> {
  const client = new HttpClient(port, 'root', password);
  await client.server(`create database ${benchDatabase}`);
  for (const statement of spineSchema) await client.sql(benchDatabase, statement);
  await uploadBody(port, password, batchBody(data));
}

/** Streams a body through `/batch`, JSONL unless said otherwise. */
export function uploadBody(
  port: number,
  password: string,
  body: Iterable<string>,
  contentType = 'application/x-ndjson',
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const upload = request(
      {
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: `/api/v1/batch/${benchDatabase}?idMapping=false`,
        headers: {
          authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}`,
          'content-type': contentType,
        },
      },
      (answer) => {
        let text = '';
        answer.on('data', (chunk) => {
          text = (text + String(chunk)).slice(-2000);
        });
        answer.on('end', () =>
          answer.statusCode === 200
            ? resolve()
            : reject(new Error(`${answer.statusCode}: ${text}`)),
        );
      },
    );
    upload.on('error', reject);
    Readable.from(body).pipe(upload);
  });
}

const pieceLength = 65_536;

export function batchBody(data: SpineData): Generator<string> {
  return jsonLines(partsOf(data));
}

export function partsOf({ persons, from, to, since }: SpineData): readonly SpinePart[] {
  return [
    { kind: 'persons', persons },
    { kind: 'edges', from, to, since },
  ];
}

/** Persons and edges as JSONL of `/batch`, in pieces. */
export function* jsonLines(parts: Iterable<SpinePart>): Generator<string> {
  let piece = '';
  for (const part of parts) {
    if (part.kind === 'persons')
      for (const { id, name, age, city, score } of part.persons) {
        piece += `{"@type":"v","@class":"Person","@id":"p${id}","id":${id},"name":"${name}","age":${age},"city":"${city}","score":${score}}\n`;
        if (piece.length <= pieceLength) continue;
        yield piece;
        piece = '';
      }
    else
      for (let edge = 0; edge < part.from.length; edge += 1) {
        piece += `{"@type":"e","@class":"KNOWS","@from":"p${part.from[edge]}","@to":"p${part.to[edge]}","since":${part.since[edge]}}\n`;
        if (piece.length <= pieceLength) continue;
        yield piece;
        piece = '';
      }
  }
  yield piece;
}

/** The same as CSV of `/batch`: persons come before edges. */
export function* csvLines(parts: Iterable<SpinePart>): Generator<string> {
  let hasEdges = false;
  let piece = '@type,@class,@id,id,name,age,city,score\n';
  for (const part of parts) {
    if (part.kind === 'persons')
      for (const { id, name, age, city, score } of part.persons)
        piece += `v,Person,p${id},${id},${name},${age},${city},${score}\n`;
    else {
      if (!hasEdges) piece += '---\n@type,@class,@from,@to,since\n';
      hasEdges = true;
      for (let edge = 0; edge < part.from.length; edge += 1)
        piece += `e,KNOWS,p${part.from[edge]},p${part.to[edge]},${part.since[edge]}\n`;
    }
    if (piece.length <= pieceLength) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** Name and age of the persons, over and over. */
export function* visitBody(data: SpineData, count: number): Generator<string> {
  let chunk = '';
  for (let n = 0; n < count; n += 1) {
    const person = data.persons[n % data.persons.length];
    chunk += `{"@type":"v","@class":"Visit","name":"${person?.name}","age":${person?.age}}\n`;
    if (chunk.length > 65_536) {
      yield chunk;
      chunk = '';
    }
  }
  yield chunk;
}
