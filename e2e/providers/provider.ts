/** Where the scenarios run, and what can be done there beside what kubectl can. */
export interface Provider {
  readonly name: 'existing' | 'kind';
  readonly context: string;
  /** A command that takes the path of a saved image and hands it to the nodes; undefined: images can be pulled. */
  readonly imageLoader: string | undefined;
  /** stop, kill, start, pause, resume or exec; undefined where nodes may not be touched. */
  readonly node:
    | ((node: string, action: string, words: readonly string[]) => Promise<string>)
    | undefined;
  down(): Promise<void>;
}
