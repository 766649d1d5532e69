import { createHash } from 'node:crypto';
import type { Entry, Index } from '#raft/vocabulary.ts';

/** What a client wants written, as it stands in an entry. */
export interface WriteRequest {
  /** The same for every repetition. */
  readonly request: string;
  readonly key: string;
  readonly value: number;
}

/** Registers under the log, each request once, and a chain over everything that was applied. */
export class Machine {
  readonly registers: Map<string, number>;
  readonly requests: Set<string>;
  applied: Index;
  chain: string;

  constructor(from?: Machine) {
    this.registers = new Map(from?.registers);
    this.requests = new Set(from?.requests);
    this.applied = from?.applied ?? 0;
    this.chain = from?.chain ?? '';
  }

  /** @returns whether it was a repetition */
  apply({ index, term, kind, data }: Entry): boolean {
    if (index !== this.applied + 1) throw new Error(`entry ${index} follows ${this.applied}`);
    this.applied = index;
    const text = new TextDecoder().decode(data);
    const hash = createHash('md5').update(`${this.chain}${index}/${term}/${kind}/${text}`);
    this.chain = hash.digest('base64');
    if (kind !== 'normal') return false;
    const { request, key, value } = JSON.parse(text) as WriteRequest;
    if (this.requests.has(request)) return true;
    this.requests.add(request);
    this.registers.set(key, value);
    return false;
  }
}
