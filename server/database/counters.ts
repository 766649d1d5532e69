/** Counted since the server started; `GET /server` shows them. */
export interface Counters {
  writeTx: number;
  readTx: number;
  txRollbacks: number;
  queries: number;
  concurrentModificationExceptions: number;
}

export function newCounters(): Counters {
  return {
    writeTx: 0,
    readTx: 0,
    txRollbacks: 0,
    queries: 0,
    concurrentModificationExceptions: 0,
  };
}
