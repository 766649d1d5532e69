import { checkDeleteAgainstConnect, checkGraphBank } from '../history/checkers.ts';
import { anyServer, type Client, eventual, linearizable, type Row, send } from './client.ts';
import type { Workload } from './workload.ts';

const accountCount = 6;
const initial = 1000;
const accounts = Array.from({ length: accountCount }, (_, number) => number);

const stateQuery = `SELECT number, balance,
  outE('Moved'):{id, src, dst, amount} AS out, inE('Moved'):{id, src, dst, amount} AS in
  FROM Account ORDER BY number`;

/** Transfers are edges, seen from both of their ends, and change the balances of these. */
export const graph: Workload = {
  schema: [
    'CREATE VERTEX TYPE Account',
    'CREATE EDGE TYPE Moved',
    'CREATE PROPERTY Account.number INTEGER',
    'CREATE INDEX ON Account (number) UNIQUE',
    ...accounts.map(
      (number) => `CREATE VERTEX Account SET number = ${number}, balance = ${initial}`,
    ),
  ],
  async step(client, id) {
    const server = anyServer(client);
    const { process, random, recorder } = client;
    // Each read is of all edges.
    if (random(12) === 0) {
      const level = random(2) === 0 ? linearizable : eventual;
      const read = () => send(server, 'sql', stateQuery, {}, level, 'query');
      await recorder.record({ process, op: 'read', value: null }, server, read, stateOf);
      return;
    }
    const from = random(accountCount);
    const to = (from + 1 + random(accountCount - 1)) % accountCount;
    const amount = 1 + random(20);
    const end = (number: number) => `(SELECT FROM Account WHERE number = ${number})`;
    const text = [
      'BEGIN',
      `CREATE EDGE Moved FROM ${end(from)} TO ${end(to)} SET id = ${id}, src = ${from}, dst = ${to}, amount = ${amount}`,
      `UPDATE Account SET balance = balance - ${amount} WHERE number = ${from}`,
      `UPDATE Account SET balance = balance + ${amount} WHERE number = ${to}`,
      'COMMIT',
    ].join(';\n');
    const move = () => send(server, 'sqlscript', text);
    await recorder.record({ process, op: 'transfer', value: id }, server, move);
  },
  finals: [stateQuery],
  finalOf: stateOf,
  check: checkGraphBank,
};

function stateOf(rows: readonly Row[]): unknown {
  const edges = (side: string) =>
    rows.flatMap((row) => {
      const ends = row[side] as readonly Row[];
      const known = side === 'out' ? 'src' : 'dst';
      return ends.map(({ id, src, dst, amount, ...rest }) => {
        const at = { src, dst, ...rest, [known]: row['number'] };
        return { id, from: `a${at.src}`, to: `a${at.dst}`, amount };
      });
    });
  const balances = Object.fromEntries(rows.map(({ number, balance }) => [`a${number}`, balance]));
  return { initial, balances, out: edges('out'), in: edges('in') };
}

const nodeCount = 40;
const end = (key: string) => `(SELECT FROM Node WHERE key = '${key}')`;

/** Vertices that are deleted while others connect them. */
export const connect: Workload = {
  schema: [
    'CREATE VERTEX TYPE Node',
    'CREATE EDGE TYPE Link',
    'CREATE PROPERTY Node.key STRING',
    'CREATE INDEX ON Node (key) UNIQUE',
    ...Array.from({ length: nodeCount }, (_, at) => `CREATE VERTEX Node SET key = 'n${at}'`),
  ],
  async step(client, id) {
    const server = anyServer(client);
    const { process, random, recorder } = client;
    // Around the same place, so that the two meet; the place moves on with the numbers.
    const around = Math.floor(id / 60) % nodeCount;
    const key = `n${(around + random(4)) % nodeCount}`;
    if (random(40) === 0) {
      const remove = () => send(server, 'sql', `DELETE VERTEX FROM Node WHERE key = '${key}'`);
      await recorder.record({ process, op: 'delete', key, value: null }, server, remove);
      return;
    }
    const [from, to] = [key, `n${random(nodeCount)}`];
    await connectEnds(client, { id, from, to });
  },
  finals: [
    'SELECT key FROM Node ORDER BY key',
    'SELECT id, @out.key AS tail, @in.key AS head FROM Link ORDER BY id',
  ],
  finalOf: (rows) => ({
    vertices: rows.filter(({ key }) => key !== undefined).map(({ key }) => key),
    edges: rows
      .filter(({ id }) => id !== undefined)
      .map(({ id, tail, head }) => ({ id, from: tail, to: head })),
  }),
  check: checkDeleteAgainstConnect,
};

async function connectEnds(
  client: Client,
  edge: { readonly id: number; readonly from: string; readonly to: string },
): Promise<void> {
  const server = anyServer(client);
  const text = `CREATE EDGE Link FROM ${end(edge.from)} TO ${end(edge.to)} SET id = ${edge.id}`;
  const write = async () => {
    const answer = await send(server, 'sql', text);
    // Without an end there is no edge, and no error.
    const isDone = answer.outcome !== 'ok' || answer.rows.length > 0;
    return isDone ? answer : ({ ...answer, outcome: 'failed', says: 'no end' } as const);
  };
  const about = { process: client.process, op: 'connect', value: edge };
  await client.recorder.record(about, server, write);
}
