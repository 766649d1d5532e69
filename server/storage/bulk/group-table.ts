/** Numbers of groups, in the order in which they came: a hash table over their bytes, which it keeps. */
export class GroupTable {
  count = 0;
  /** The number of a group, and one; 0: free. At most half of them are taken. */
  #slots = new Uint32Array(2048);
  #hashes = new Int32Array(1024);
  /** Where the bytes of each group start; one more than there are groups. */
  #starts = new Uint32Array(1025);
  #bytes = new Uint8Array(16 * 1024);

  get byteLength(): number {
    const { byteLength } = this.#slots;
    return byteLength + this.#hashes.byteLength + this.#starts.byteLength + this.#bytes.length;
  }

  /** The bytes of all groups; those of one lie from its start to that of the next. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get starts(): Uint32Array {
    return this.#starts;
  }

  lengthOf(group: number): number {
    return (this.#starts[group + 1] as number) - (this.#starts[group] as number);
  }

  /** The number of the group that a key begins with (`groupEnd`): `count` before, when it is new. */
  numberOf(key: Uint8Array): number {
    const { length } = key;
    let hash = key[0] as number;
    let end = 1;
    for (; end < length; end += 1) {
      const byte = key[end] as number;
      if (byte === 0) break;
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    if (end >= length) throw new Error('a key of an index in chunks has no zero byte');
    end += 1;
    hash ^= hash >>> 15;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (let taken = slots[slot] as number; taken !== 0; taken = slots[slot] as number) {
      if (this.#hashes[taken - 1] === hash && this.#isAt(taken - 1, key, end)) return taken - 1;
      slot = (slot + 1) & mask;
    }
    slots[slot] = this.count + 1;
    return this.#append(key, end, hash);
  }

  #isAt(group: number, key: Uint8Array, end: number): boolean {
    const start = this.#starts[group] as number;
    if ((this.#starts[group + 1] as number) - start !== end) return false;
    const bytes = this.#bytes;
    for (let i = 0; i < end; i += 1) if (bytes[start + i] !== key[i]) return false;
    return true;
  }

  #append(key: Uint8Array, end: number, hash: number): number {
    const group = this.count;
    const start = this.#starts[group] as number;
    if (start + end > this.#bytes.length) {
      const length = Math.max(start + end, 2 * this.#bytes.length);
      this.#bytes = new Uint8Array(this.#bytes.buffer.transfer(length));
    }
    for (let i = 0; i < end; i += 1) this.#bytes[start + i] = key[i] as number;
    this.#hashes[group] = hash;
    this.#starts[group + 1] = start + end;
    this.count = group + 1;
    if (this.count === this.#hashes.length) this.#grow();
    return group;
  }

  #grow(): void {
    const { count } = this;
    const hashes = new Int32Array(this.#hashes.buffer.transfer(8 * count));
    this.#hashes = hashes;
    this.#starts = new Uint32Array(this.#starts.buffer.transfer(8 * count + 4));
    const slots = new Uint32Array(4 * count);
    const mask = slots.length - 1;
    for (let group = 0; group < count; group += 1) {
      let slot = (hashes[group] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = group + 1;
    }
    this.#slots = slots;
  }
}
