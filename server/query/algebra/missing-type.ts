/** A type that a statement makes on the fly. */
export interface MissingType {
  readonly name: string;
  readonly kind: 'vertex' | 'edge';
  readonly supertypes: readonly string[];
}
