/** Of the edges of a vertex. */
export type Direction = 'out' | 'in';
