import assert from 'node:assert/strict';
import type { Entry, Index, PeerId, Term } from '#raft/vocabulary.ts';
import type { SimulatedServer } from './server.ts';

/** Sees all servers and all of history: what is checked at every step (ha-testing.md 4.1). */
export class Oracle {
  readonly #leaders = new Map<Term, PeerId>();
  readonly #applied = new Map<Index, Entry>();
  readonly #chains = new Map<Index, string>();
  #commitTerm: Term = 0;
  newest: Index = 0;
  /** Requests of clients that were committed. */
  writes = 0;
  elections = 0;
  /** Hash over the stream of events: the same seed gives the same. */
  hash = 0;

  event(...parts: readonly (string | number)[]): void {
    for (const part of parts)
      for (const letter of String(part))
        this.hash = (Math.imul(this.hash, 31) + letter.charCodeAt(0)) | 0;
  }

  elected({ id, node, store }: SimulatedServer): void {
    const term = node?.status().term ?? 0;
    const known = this.#leaders.get(term);
    assert.ok(known === undefined || known === id, `S2: term ${term} has ${known} and ${id}`);
    if (known !== undefined) return;
    this.#leaders.set(term, id);
    this.elections += 1;
    if (term <= this.#commitTerm) return;
    assert.ok((node?.status().lastIndex ?? 0) >= this.newest, `S4: ${id} lacks what is committed`);
    const own = store.tail.term(this.newest);
    const committed = this.#applied.get(this.newest);
    if (typeof own === 'number' && this.newest <= (node?.status().durableIndex ?? 0))
      assert.equal(own, committed?.term ?? own, `S4: ${id} has another entry ${this.newest}`);
  }

  /** S6, S11: the same entries at the same places, for ever, and the same state after them. */
  appliedBy(server: PeerId, entry: Entry, chain: string, leaderTerm: Term | undefined): void {
    const { index } = entry;
    const known = this.#applied.get(index);
    if (known === undefined) {
      // What its bytes came in may be larger, and would live as long.
      this.#applied.set(index, { ...entry, data: new Uint8Array(entry.data) });
      if (entry.kind === 'normal') this.writes += 1;
    } else assert.ok(areEqual(entry, known), `S6: ${server} applies another entry ${index}`);
    const others = this.#chains.get(index);
    if (others === undefined) this.#chains.set(index, chain);
    else if (chain !== others)
      assert.fail(`S11: ${server} has another state after ${index}: ${chain}, not ${others}`);
    this.newest = Math.max(this.newest, index);
    if (leaderTerm !== undefined) this.#commitTerm = Math.max(this.#commitTerm, leaderTerm);
  }
}

function areEqual(a: Entry, b: Entry): boolean {
  return a.term === b.term && a.kind === b.kind && Buffer.compare(a.data, b.data) === 0;
}
