import { request } from 'node:http';
import { Readable } from 'node:stream';
import type { SpineData } from './data.ts';
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

/** Streams a JSONL body through `/batch`. */
export function uploadBody(port: number, password: string, body: Iterable<string>): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const upload = request(
      {
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: `/api/v1/batch/${benchDatabase}?idMapping=false`,
        headers: {
          authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}`,
          'content-type': 'application/x-ndjson',
        },
      },
      (answer) => {
        let text = '';
        answer.on('data', (chunk) => {
          text += String(chunk);
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

export function* batchBody(data: SpineData): Generator<string> {
  let chunk = '';
  for (const { id, name, age, city, score } of data.persons) {
    chunk += `{"@type":"v","@class":"Person","@id":"p${id}","id":${id},"name":"${name}","age":${age},"city":"${city}","score":${score}}\n`;
    if (chunk.length > 65_536) {
      yield chunk;
      chunk = '';
    }
  }
  for (let edge = 0; edge < data.from.length; edge += 1) {
    chunk += `{"@type":"e","@class":"KNOWS","@from":"p${data.from[edge]}","@to":"p${data.to[edge]}","since":${data.since[edge]}}\n`;
    if (chunk.length > 65_536) {
      yield chunk;
      chunk = '';
    }
  }
  yield chunk;
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
