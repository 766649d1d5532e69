import { flushCount } from '../child.ts';
import { generateLoad, type LoadResult, requestBytes } from '../http-load.ts';
import { type Comparison, median } from '../measure.ts';
import { mulberry32, type SpineData } from '../spine/data.ts';
import { benchDatabase } from '../spine/upload.ts';
import { pgbench, type Rate } from './pgbench.ts';
import { authorization, besidePeer, microsecondsEach, type Sides, withSides } from './sides.ts';

const seconds = 2;
/** A server runs for long: its code is compiled when it is measured. */
const warmUpSeconds = 6;

/** Point reads, random durable updates and both at once over HTTP, beside prepared statements of PostgreSQL over loopback. */
export function benchSingleRecords(data: SpineData, rounds: number): Promise<Comparison[]> {
  const personCount = data.persons.length;
  return withSides(data, async (sides) => {
    await load(sides, reads(personCount), 8, warmUpSeconds);
    await load(sides, updates(personCount), 16, warmUpSeconds);
    return [
      await pointReads(sides, personCount, rounds),
      ...(await mixed(sides, personCount, rounds)),
      ...(await randomUpdates(sides, personCount, rounds)),
    ];
  });
}

interface Work {
  readonly request: () => Buffer;
  readonly script: string;
}

const headers = { authorization };

function reads(personCount: number): Work {
  const random = mulberry32(7);
  return {
    request: () =>
      requestBytes(
        'POST',
        `/api/v1/query/${benchDatabase}`,
        headers,
        JSON.stringify({
          language: 'sql',
          command: 'SELECT name, age FROM Person WHERE id = :id',
          params: { id: Math.floor(random() * personCount) },
        }),
      ),
    script: `\\set id random(0, ${personCount - 1})\nSELECT name, age FROM person WHERE id = :id;\n`,
  };
}

function updates(personCount: number): Work {
  const random = mulberry32(8);
  return {
    request: () =>
      requestBytes(
        'POST',
        `/api/v1/command/${benchDatabase}`,
        headers,
        JSON.stringify({
          language: 'sql',
          command: 'UPDATE Person SET age = :age WHERE id = :id',
          params: { id: Math.floor(random() * personCount), age: Math.floor(random() * 100) },
        }),
      ),
    script: `\\set id random(0, ${personCount - 1})\n\\set age random(0, 99)\nUPDATE person SET age = :age WHERE id = :id;\n`,
  };
}

async function load(
  { server }: Sides,
  { request }: Work,
  connections: number,
  forSeconds = seconds,
): Promise<LoadResult> {
  const durationMs = forSeconds * 1000;
  const result = await generateLoad({ port: server.port, connections, durationMs, request });
  for (const [status, count] of result.statusCounts)
    if (status !== 200) throw new Error(`${count} answers with status ${status}`);
  return result;
}

async function peer(
  { postgres }: Sides,
  { script }: Work,
  clients: number,
): Promise<Rate | undefined> {
  return postgres && pgbench(postgres.server, postgres.port, { script, clients, seconds });
}

/** Medians of the rounds of both sides, in turn. */
class Rates {
  readonly #ours: LoadResult[] = [];
  readonly #theirs: Rate[] = [];

  add(ours: LoadResult, theirs: Rate | undefined): void {
    this.#ours.push(ours);
    if (theirs !== undefined) this.#theirs.push(theirs);
  }

  get perSecond(): { readonly ours: number; readonly postgres: number | undefined } {
    return {
      ours: median(this.#ours.map(({ requestsPerSecond }) => requestsPerSecond)),
      postgres: this.#peerMedian(({ perSecond }) => perSecond),
    };
  }

  get p99Ms(): { readonly ours: number; readonly postgres: number | undefined } {
    return {
      ours: median(this.#ours.map(({ p99Ms }) => p99Ms)),
      postgres: this.#peerMedian(({ p99Ms }) => p99Ms),
    };
  }

  get p50Ms(): number {
    return median(this.#ours.map(({ p50Ms }) => p50Ms));
  }

  #peerMedian(of: (rate: Rate) => number): number | undefined {
    return this.#theirs.length === 0 ? undefined : median(this.#theirs.map(of));
  }

  remarks(): string {
    const { ours, postgres } = this.p99Ms;
    const theirs = postgres === undefined ? '' : `, postgres ${postgres.toFixed(2)} ms`;
    return `p50 ${this.p50Ms.toFixed(2)} ms; p99 ${ours.toFixed(2)} ms${theirs}`;
  }
}

async function pointReads(sides: Sides, personCount: number, rounds: number): Promise<Comparison> {
  const work = reads(personCount);
  const rates = new Rates();
  for (let round = 0; round < rounds; round += 1)
    rates.add(await load(sides, work, 8), await peer(sides, work, 8));
  return besidePeer('point reads, 8 connections', rates.perSecond, {
    unit: 'reads/s',
    least: 1,
    isOtherwiseReached: rates.p99Ms.ours <= 1.5,
    remarks: `${rates.remarks()} (p99 <= 1.5)`,
  });
}

async function mixed(sides: Sides, personCount: number, rounds: number): Promise<Comparison[]> {
  const read = reads(personCount);
  const write = updates(personCount);
  const readRates = new Rates();
  const writeRates = new Rates();
  for (let round = 0; round < rounds; round += 1) {
    const [ourReads, ourWrites] = await Promise.all([load(sides, read, 8), load(sides, write, 8)]);
    const [reading, writing] = await Promise.all([peer(sides, read, 8), peer(sides, write, 8)]);
    readRates.add(ourReads, reading);
    writeRates.add(ourWrites, writing);
  }
  return [
    mixedRow('8 readers beside 8 writers: reads', 'reads/s', readRates),
    mixedRow('8 readers beside 8 writers: writes', 'writes/s', writeRates),
  ];
}

function mixedRow(name: string, unit: string, rates: Rates): Comparison {
  const { ours, postgres = Number.POSITIVE_INFINITY } = rates.p99Ms;
  return besidePeer(name, rates.perSecond, {
    unit,
    least: 0.8,
    isOtherwiseReached: ours <= postgres,
    remarks: `${rates.remarks()} (p99 <= 1 x)`,
  });
}

const updateTargets: readonly (readonly [clients: number, least: number, flushes: number])[] = [
  [1, 0.9, 1.05],
  [16, 1, 0.15],
  [64, 1, 0.05],
];
const oneClientMicroseconds = 220;

async function randomUpdates(
  sides: Sides,
  personCount: number,
  rounds: number,
): Promise<Comparison[]> {
  const work = updates(personCount);
  const rows: Comparison[] = [];
  for (const [clients, least, flushesMost] of updateTargets) {
    const rates = new Rates();
    const flushes: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = await flushCount(sides.client);
      let ours: LoadResult | undefined;
      cpu.push(
        await microsecondsEach(sides, async () => {
          ours = await load(sides, work, clients);
          return ours.statusCounts.get(200) ?? 1;
        }),
      );
      if (ours === undefined) continue;
      flushes.push(((await flushCount(sides.client)) - before) / (ours.statusCounts.get(200) ?? 1));
      rates.add(ours, await peer(sides, work, clients));
    }
    const { ours, postgres = Number.POSITIVE_INFINITY } = rates.p99Ms;
    const isCheap = clients !== 1 || median(cpu) <= oneClientMicroseconds;
    rows.push(
      besidePeer(`durable random updates, ${clients} clients`, rates.perSecond, {
        unit: 'commits/s',
        least,
        isOtherwiseReached: isCheap && median(flushes) <= flushesMost && ours <= 1.5 * postgres,
        remarks: `${rates.remarks()} (p99 <= 1.5 x); ${median(flushes).toFixed(3)} flushes (<= ${flushesMost}), ${median(cpu).toFixed(0)} us of processor time a commit${clients === 1 ? ` (<= ${oneClientMicroseconds})` : ''}`,
      }),
    );
  }
  return rows;
}
