/** Most plans on probation. */
const newCountMax = 64;
/** Hits with which a plan is worth keeping; a writing statement looks itself up once more while it is executed. */
const hitsToStay = 2;

interface NewPlan<Plan> {
  readonly plan: Plan;
  hits: number;
}

/**
 * Plans by text: those that were used again, the most recently used ones first, and a few new ones on probation, first in, first
 * out (S3-FIFO, Yang et al. 2023). Texts with their values written into them are seen once: they push no others out, and their
 * plans are gone before the garbage collector moves them among the old objects, which costs it twice the work of such
 * statements. A text that comes back after its probation is remembered by name and stays at once.
 *
 * Bounded in two ways: by count, and by the length of the texts that are their keys, so that megabytes of generated statements do
 * not push the memory up (a plan holds some 200 bytes per byte of a dense text).
 */
export class PlanCache<Plan> {
  readonly #textLengthMax: number;
  readonly #countMax: () => number;
  readonly #plans = new Map<string, Plan>();
  readonly #new = new Map<string, NewPlan<Plan>>();
  /** Texts whose probation is over. */
  readonly #passed = new Set<string>();
  /** Of the keys of plans. */
  #textLength = 0;
  #passedLength = 0;

  /** @param options `countMax` is asked at each insertion (`service.sql.planCacheSize`) */
  constructor(options: { countMax: () => number; textLengthMax?: number }) {
    this.#countMax = options.countMax;
    this.#textLengthMax = options.textLengthMax ?? 512 * 1024;
  }

  get size(): number {
    return this.#plans.size + this.#new.size;
  }

  /** Cost: one or two lookups; the entry is moved to the young end only when the cache is more than half full. */
  get(key: string): Plan | undefined {
    const plan = this.#plans.get(key);
    if (plan === undefined) return this.#getNew(key);
    if (this.#plans.size * 2 > this.#countMax()) {
      this.#plans.delete(key);
      this.#plans.set(key, plan);
    }
    return plan;
  }

  #getNew(key: string): Plan | undefined {
    const found = this.#new.get(key);
    if (found === undefined) return undefined;
    found.hits += 1;
    if (found.hits >= hitsToStay) {
      this.#new.delete(key);
      this.#plans.set(key, found.plan);
    }
    return found.plan;
  }

  set(key: string, plan: Plan): void {
    const countMax = this.#countMax();
    // A text that would push out most of the others is planned anew each time.
    if (key.length > this.#textLengthMax / 8 || countMax === 0) return;
    const stays = this.#plans.has(key) || this.#passed.has(key);
    this.delete(key);
    this.#textLength += key.length;
    if (stays) this.#plans.set(key, plan);
    else this.#new.set(key, { plan, hits: 0 });
    this.#evict(countMax);
  }

  #evict(countMax: number): void {
    const newMax = Math.min(newCountMax, Math.ceil(countMax / 4));
    while (this.#new.size > newMax) this.#passOver(oldestOf(this.#new));
    while (this.size > countMax || this.#textLength > this.#textLengthMax)
      this.delete(oldestOf(this.#plans.size > 0 ? this.#plans : this.#new));
    while (this.#passed.size > countMax || this.#passedLength > this.#textLengthMax)
      this.#forget(oldestOf(this.#passed));
  }

  #passOver(oldest: string): void {
    this.delete(oldest);
    this.#passed.add(oldest);
    this.#passedLength += oldest.length;
  }

  delete(key: string): void {
    if (this.#plans.delete(key) || this.#new.delete(key)) this.#textLength -= key.length;
    this.#forget(key);
  }

  #forget(key: string): void {
    if (this.#passed.delete(key)) this.#passedLength -= key.length;
  }

  clear(): void {
    this.#plans.clear();
    this.#new.clear();
    this.#passed.clear();
    this.#textLength = 0;
    this.#passedLength = 0;
  }
}

/** The oldest key of a collection that is not empty. */
function oldestOf(keys: ReadonlyMap<string, unknown> | ReadonlySet<string>): string {
  const [oldest = ''] = keys.keys();
  return oldest;
}
