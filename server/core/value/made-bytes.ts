/**
 * Bytes of the large values that were made so far: cells read from outside of their rows, texts, lists and maps that expressions built.
 * Of the process, and it only grows: whoever wants to know what some work made looks before and after it. Nearly all work makes none,
 * which one comparison tells; what is made is not always held, so those who hold values measure them when it has grown.
 *
 * `rowStart` is what it was when the row at hand was begun: what was made for the rows before it is garbage, or accounted by who keeps it.
 */
export const madeBytes = { total: 0, rowStart: 0 };
