/**
 * The most recently used values, by text. Bounded in two ways: by count, and by the length of the texts that are their keys,
 * so that megabytes of generated statements do not push the memory up (a plan holds some 200 bytes per byte of a dense text).
 */
export class PlanCache<Plan> {
  readonly #textLengthMax: number;
  readonly #countMax: () => number;
  readonly #plans = new Map<string, Plan>();
  #textLength = 0;

  /** @param options `countMax` is asked at each insertion (`service.sql.planCacheSize`) */
  constructor(options: { countMax: () => number; textLengthMax?: number }) {
    this.#countMax = options.countMax;
    this.#textLengthMax = options.textLengthMax ?? 512 * 1024;
  }

  get size(): number {
    return this.#plans.size;
  }

  /** Cost: one lookup; the entry is moved to the young end only when the cache is more than half full. */
  get(key: string): Plan | undefined {
    const plan = this.#plans.get(key);
    if (plan !== undefined && this.#plans.size * 2 > this.#countMax()) {
      this.#plans.delete(key);
      this.#plans.set(key, plan);
    }
    return plan;
  }

  set(key: string, plan: Plan): void {
    // A text that would push out most of the others is planned anew each time.
    if (key.length > this.#textLengthMax / 8 || this.#countMax() === 0) return;
    this.delete(key);
    this.#plans.set(key, plan);
    this.#textLength += key.length;
    for (const oldest of this.#plans.keys()) {
      if (this.#plans.size <= this.#countMax() && this.#textLength <= this.#textLengthMax) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    if (this.#plans.delete(key)) this.#textLength -= key.length;
  }

  clear(): void {
    this.#plans.clear();
    this.#textLength = 0;
  }
}
