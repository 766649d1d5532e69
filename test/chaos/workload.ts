import type { Operation } from '../history/history.ts';
import type { Client, Row } from './client.ts';

/** What the clients of a cell do, and what must hold of their history (ha-testing.md 8, 9.2). */
export interface Workload {
  readonly schema: readonly string[];
  /** One operation of one client. @param number of no other operation of the cell */
  step(client: Client, number: number): Promise<void>;
  /** All that there is at the end: queries whose rows, one behind the other, one server gives. */
  readonly finals: readonly string[];
  finalOf(rows: readonly Row[]): unknown;
  check(history: readonly Operation[]): string[];
}
