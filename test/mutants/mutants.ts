import { coreMutants } from './core-mutants.ts';
import { logMutants } from './log-mutants.ts';
import { transactionMutants } from './transaction-mutants.ts';

/** One small error in the product, and what must find it. The product itself has no switch for it. */
export interface Mutant {
  readonly name: string;
  readonly says: string;
  readonly edits: readonly Edit[];
  readonly finder: Finder;
}

export interface Edit {
  readonly file: string;
  /** Stands in the file once. */
  readonly from: string;
  readonly to: string;
}

/** Arguments of node; the mutant is found when it does not end with 0. */
export type Finder = readonly string[];

export const mutants: readonly Mutant[] = [...coreMutants, ...logMutants, ...transactionMutants];
