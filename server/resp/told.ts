/** What a client is told instead of a reply; its text begins with a code. */
export class Told extends Error {}
