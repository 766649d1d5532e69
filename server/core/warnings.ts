import type { ErrorPosition } from './errors.ts';

/** What an answer tells beside its result: nothing failed, but what was asked is probably not what was meant (house decision 80). */
export interface Warning {
  readonly code: WarningCode;
  readonly message: string;
  /** In the text of the statement. */
  readonly position?: ErrorPosition;
}

export type WarningCode =
  | 'UnknownField'
  | 'UnboundParameter'
  | 'UnknownEdgeType'
  | 'FullScan'
  | 'RowsCut'
  | 'UnknownGroup';

/** As many as one answer tells; the slips of a long text are one slip repeated. */
export const warningsMax = 20;
