const pageBits = 10;
const pageSize = 1 << pageBits;

/** An array that may be filled in any order: pages of 1024 places, made when something is put there. */
export class PagedTable<T> {
  readonly #pages: ((T | undefined)[] | undefined)[] = [];

  get(index: number): T | undefined {
    const page =
      this.#pages[index < 0x4000_0000 ? index >>> pageBits : Math.floor(index / pageSize)];
    return page === undefined ? undefined : page[index % pageSize];
  }

  set(index: number, value: T | undefined): void {
    const number = Math.floor(index / pageSize);
    let page = this.#pages[number];
    if (page === undefined) {
      if (value === undefined) return;
      // Filled up one by one, so that the engine keeps a plain array.
      while (this.#pages.length <= number) this.#pages.push(undefined);
      page = new Array<T | undefined>(pageSize).fill(undefined);
      this.#pages[number] = page;
    }
    page[index % pageSize] = value;
  }
}
