import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpClient, startServer } from '../../support/server-process.ts';
import { cpuSeconds, residentMegabytes } from '../child.ts';
import { type Comparison, median, requireEqual } from '../measure.ts';
import type { SpineData } from '../spine/data.ts';
import { batchBody, benchDatabase, csvLines, partsOf, spineSchema } from '../spine/upload.ts';

const password = 'bench-password';
const pieceBytes = 64 * 1024;

type Figure = 'parse' | 'jsonl' | 'csv' | 'seconds' | 'ofParse' | 'ofLines' | 'ofLinesWall';

/**
 * `/batch` of the spine's persons and edges, durable at the end, against `JSON.parse` of the same lines in the same run: the
 * processor time of the whole server process, from a fresh start. Peak memory is that of the server process. The machine may
 * change its speed within seconds, by a fifth and more, so lines are parsed before and after each import, ratios are made within
 * a round, and two imports of CSV stand between two of JSONL: a drift hits both alike.
 */
export async function benchBatch(data: SpineData, rounds: number): Promise<Comparison[]> {
  const jsonl = Buffer.concat(Array.from(batchBody(data), (piece) => Buffer.from(piece)));
  const csv = Buffer.concat(Array.from(csvLines(partsOf(data)), (piece) => Buffer.from(piece)));
  const figures: Record<Figure, number[]> = {
    parse: [],
    ofParse: [],
    ofLines: [],
    ofLinesWall: [],
    jsonl: [],
    csv: [],
    seconds: [],
  };
  let peak = 0;
  const importLines = async (): Promise<Import> => {
    const before = parseSeconds(jsonl);
    const lines = await importInto(jsonl, 'application/x-ndjson', data);
    const parse = (before + parseSeconds(jsonl)) / 2;
    peak = Math.max(peak, lines.peakMegabytes);
    figures.parse.push(parse);
    figures.ofParse.push(lines.cpuSeconds / parse);
    figures.jsonl.push(lines.cpuSeconds);
    figures.seconds.push(lines.seconds);
    return lines;
  };
  const importCommas = async (): Promise<Import> => {
    const commas = await importInto(csv, 'text/csv', data);
    peak = Math.max(peak, commas.peakMegabytes);
    figures.csv.push(commas.cpuSeconds);
    return commas;
  };
  // Not counted: the code of the loop is made.
  parseSeconds(jsonl);
  for (let round = 0; round < rounds; round += 1) {
    const firstLines = await importLines();
    const firstCommas = await importCommas();
    const commas = sumOf(firstCommas, await importCommas());
    const lines = sumOf(firstLines, await importLines());
    figures.ofLines.push(commas.cpuSeconds / lines.cpuSeconds);
    figures.ofLinesWall.push(commas.seconds / lines.seconds);
  }
  const parse = median(figures.parse);
  const lines = median(figures.jsonl);
  const commas = median(figures.csv);
  const seconds = median(figures.seconds);
  const ofParse = median(figures.ofParse);
  const ofLines = median(figures.ofLines);
  return [
    {
      name: '/batch as JSONL against JSON.parse',
      medians: new Map([
        ['ours', lines],
        ['JSON.parse', parse],
      ]),
      unit: 'processor s',
      ratio: ofParse,
      target: '<= 3',
      isReached: ofParse <= 3,
      remarks: `${(jsonl.length / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s of wall time; rounds ${shown(figures.ofParse)}`,
    },
    {
      name: '/batch as CSV against JSONL',
      medians: new Map([
        ['csv', commas],
        ['jsonl', lines],
      ]),
      unit: 'processor s',
      ratio: ofLines,
      target: '< 1',
      isReached: ofLines < 1,
      remarks: `${(csv.length / 1e6).toFixed(0)} MB; rounds ${shown(figures.ofLines)}; of wall time ${median(figures.ofLinesWall).toFixed(2)}`,
    },
    {
      name: 'peak memory of the server during /batch',
      medians: new Map([['ours', peak]]),
      unit: 'MB',
      ratio: peak,
      target: '<= 500',
      isReached: peak <= 500,
      remarks: 'VmHWM',
    },
  ];
}

function sumOf(a: Import, b: Import): Pick<Import, 'cpuSeconds' | 'seconds'> {
  return { cpuSeconds: a.cpuSeconds + b.cpuSeconds, seconds: a.seconds + b.seconds };
}

function shown(ratios: readonly number[]): string {
  return ratios.map((ratio) => ratio.toFixed(2)).join(' ');
}

function parseSeconds(body: Buffer): number {
  const start = process.cpuUsage();
  let count = 0;
  for (let at = 0; at < body.length; ) {
    const end = body.indexOf(10, at);
    const record = JSON.parse(body.toString('utf8', at, end)) as Record<string, unknown>;
    if (record['@type'] !== undefined) count += 1;
    at = end + 1;
  }
  const used = process.cpuUsage(start);
  requireEqual('lines of the body', count > 0, true);
  return (used.user + used.system) / 1e6;
}

interface Import {
  readonly cpuSeconds: number;
  readonly seconds: number;
  readonly peakMegabytes: number;
}

/** One import into an empty database of a server of its own; checks what arrived. */
async function importInto(body: Buffer, contentType: string, data: SpineData): Promise<Import> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-bench-'));
  const server = await startServer({ rootPath, rootPassword: password });
  try {
    const client = new HttpClient(server.port, 'root', password);
    await client.server(`create database ${benchDatabase}`);
    for (const statement of spineSchema) await client.sql(benchDatabase, statement);
    const processId = server.child.pid ?? 0;
    const cpuBefore = cpuSeconds(processId);
    const start = performance.now();
    const answer = await upload(server.port, body, contentType);
    const seconds = (performance.now() - start) / 1000;
    const used = cpuSeconds(processId) - cpuBefore;
    const peakMegabytes = residentMegabytes(processId, 'VmHWM');
    requireEqual(
      'records',
      [answer['verticesCreated'], answer['edgesCreated']],
      [data.persons.length, data.from.length],
    );
    const rows = await client.sql(benchDatabase, 'SELECT count(*) AS n FROM KNOWS');
    requireEqual('stored edges', rows[0]?.['n'], data.from.length);
    return { cpuSeconds: used, seconds, peakMegabytes };
  } finally {
    await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
}

/** Sends the body in pieces at the speed of the server. @returns the answer */
function upload(
  port: number,
  body: Buffer,
  contentType: string,
): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const sent = request(
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
        answer.on('data', (piece) => {
          text += String(piece);
        });
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(JSON.parse(text));
          else reject(new Error(`${answer.statusCode}: ${text}`));
        });
      },
    );
    sent.on('error', reject);
    let at = 0;
    const send = () => {
      while (at < body.length) {
        const piece = body.subarray(at, at + pieceBytes);
        at += piece.length;
        if (sent.write(piece)) continue;
        sent.once('drain', send);
        return;
      }
      sent.end();
    };
    send();
  });
}
