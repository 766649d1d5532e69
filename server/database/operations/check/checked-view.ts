import type { ReadView } from '#transaction/read/read-view.ts';

/** What checks read: a record that cannot be read is not there. */
export interface CheckedView
  extends Pick<ReadView, 'catalog' | 'snapshot' | 'record' | 'recordCount'> {
  scan(...where: Parameters<ReadView['scan']>): ReturnType<ReadView['scan']>;
}
