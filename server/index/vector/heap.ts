/** A binary heap of numbered things by a number; the least on top, or the greatest with negated numbers. Grows as needed. */
export class SlotHeap {
  #keys: Float64Array;
  #slots: Int32Array;
  size = 0;

  constructor(capacity: number) {
    this.#keys = new Float64Array(Math.max(capacity, 16));
    this.#slots = new Int32Array(this.#keys.length);
  }

  clear(): void {
    this.size = 0;
  }

  get topKey(): number {
    return this.#keys[0] as number;
  }

  get topSlot(): number {
    return this.#slots[0] as number;
  }

  keyAt(at: number): number {
    return this.#keys[at] as number;
  }

  slotAt(at: number): number {
    return this.#slots[at] as number;
  }

  push(key: number, slot: number): void {
    if (this.size === this.#keys.length) this.#grow();
    const keys = this.#keys;
    const slots = this.#slots;
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if ((keys[parent] as number) <= key) break;
      keys[at] = keys[parent] as number;
      slots[at] = slots[parent] as number;
      at = parent;
    }
    keys[at] = key;
    slots[at] = slot;
  }

  /** Takes the top away. */
  pop(): void {
    const last = --this.size;
    if (last > 0) this.#sink(this.#keys[last] as number, this.#slots[last] as number);
  }

  replaceTop(key: number, slot: number): void {
    this.#sink(key, slot);
  }

  /** Of a heap with negated numbers: keeps the `count` least. */
  offer(number: number, slot: number, count: number): void {
    if (this.size < count) this.push(-number, slot);
    else if (number < -this.topKey) this.replaceTop(-number, slot);
  }

  #sink(key: number, slot: number): void {
    const keys = this.#keys;
    const slots = this.#slots;
    const { size } = this;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && (keys[child + 1] as number) < (keys[child] as number)) child += 1;
      if ((keys[child] as number) >= key) break;
      keys[at] = keys[child] as number;
      slots[at] = slots[child] as number;
      at = child;
    }
    keys[at] = key;
    slots[at] = slot;
  }

  #grow(): void {
    const keys = new Float64Array(this.#keys.length * 2);
    const slots = new Int32Array(keys.length);
    keys.set(this.#keys);
    slots.set(this.#slots);
    this.#keys = keys;
    this.#slots = slots;
  }
}
