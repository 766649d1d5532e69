import { Link, type RecordKind, type StoredRecord } from './value.ts';

// Records and links as values; they are declared beside the union of all values, since each names the other.

export { Link, type RecordKind, type StoredRecord };
