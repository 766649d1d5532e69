import type { Value } from '#core/value/value.ts';
import { sessionSchema } from './session-work.ts';

export const keyCount = 4;
export const accountCount = 4;
export const balance = 100;
const keys = Array.from({ length: keyCount }, (_, i) => i);
const accounts = Array.from({ length: accountCount }, (_, i) => i);

type Step = string | readonly [text: string, parameters: Readonly<Record<string, Value>>];

function firstOf(text: string, n: number): Step {
  return [text, { key: `k${n}` }];
}

/** Each may run again: nobody knows of the last one of a leader that is gone. */
export const schema: readonly Step[] = [
  'CREATE DOCUMENT TYPE Register IF NOT EXISTS',
  'CREATE PROPERTY Register.key IF NOT EXISTS STRING',
  'CREATE INDEX IF NOT EXISTS ON Register (key) UNIQUE',
  ...keys.map((n) => firstOf('UPDATE Register SET key = :key UPSERT WHERE key = :key', n)),
  'CREATE DOCUMENT TYPE Series IF NOT EXISTS',
  'CREATE PROPERTY Series.key IF NOT EXISTS STRING',
  'CREATE INDEX IF NOT EXISTS ON Series (key) UNIQUE',
  ...keys.map((n) =>
    firstOf('UPDATE Series SET key = :key, items = [] UPSERT WHERE key = :key', n),
  ),
  'CREATE DOCUMENT TYPE Account IF NOT EXISTS',
  'CREATE PROPERTY Account.number IF NOT EXISTS INTEGER',
  'CREATE INDEX IF NOT EXISTS ON Account (number) UNIQUE',
  ...accounts.map(
    (number): Step => [
      'UPDATE Account SET number = :number, balance = :balance UPSERT WHERE number = :number',
      { number, balance },
    ],
  ),
  'CREATE DOCUMENT TYPE Element IF NOT EXISTS',
  'CREATE DOCUMENT TYPE Claim IF NOT EXISTS',
  'CREATE PROPERTY Claim.key IF NOT EXISTS STRING',
  'CREATE INDEX IF NOT EXISTS ON Claim (key) UNIQUE',
  'CREATE VERTEX TYPE Node IF NOT EXISTS',
  'CREATE EDGE TYPE Link IF NOT EXISTS',
  'CREATE PROPERTY Node.key IF NOT EXISTS STRING',
  'CREATE INDEX IF NOT EXISTS ON Node (key) UNIQUE',
  ...sessionSchema,
];

// Texts are the same each time, so that they are compiled once: most of the time of a statement would be that.

export const listScript = [
  'BEGIN',
  'LET found = SELECT items FROM Series WHERE key = :other',
  'UPDATE Series SET items = items || :value WHERE key = :key',
  'COMMIT',
  'RETURN $found',
].join(';\n');
export const transferScript = [
  'BEGIN ISOLATION REPEATABLE_READ',
  'LET poor = SELECT FROM Account WHERE number = :from AND balance < :amount',
  'IF ($poor.size() > 0) { ROLLBACK; RETURN "poor"; }',
  'UPDATE Account SET balance = balance - :amount WHERE number = :from',
  'UPDATE Account SET balance = balance + :amount WHERE number = :to',
  'COMMIT',
].join(';\n');
const endOf = (name: string) => `(SELECT FROM Node WHERE key = :${name})`;
export const connectText = `CREATE EDGE Link FROM ${endOf('from')} TO ${endOf('to')} SET id = :id, src = :from, dst = :to`;
