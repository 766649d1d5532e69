import type { BucketId } from '#core/value/rid.ts';
import type { RidFilter } from '../rid-filter.ts';

/** What a search for neighbours asks for. */
export interface CandidateRequest {
  readonly vector: Float32Array;
  readonly k: number;
  readonly efSearch: number | undefined;
  /** Only these records. */
  readonly filter: RidFilter | undefined;
  /** Only records of these buckets. */
  readonly buckets: ReadonlySet<BucketId> | undefined;
}
