import type { JsonObject } from '../kubernetes-object.ts';
import { apiGroup } from '../names.ts';

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly jsonPath: string;
  readonly type?: string;
  /** Shown with `-o wide` only. */
  readonly isWide?: boolean;
}

/** A kind of ours, with what differs from one to the other. */
export interface KindParts {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly schema: JsonObject;
  readonly columns: readonly Column[];
  /** Besides the status. */
  readonly subresources?: JsonObject;
}

/** The CustomResourceDefinition of a kind. */
export function kindDefinition(parts: KindParts): JsonObject {
  const { kind, plural, shortName, schema, columns, subresources } = parts;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${apiGroup}` },
    spec: {
      group: apiGroup,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ['polyad'],
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {}, ...subresources },
          additionalPrinterColumns: columns.map(({ name, jsonPath, type, isWide }) => ({
            name,
            type: type ?? 'string',
            jsonPath,
            ...(isWide ? { priority: 1 } : undefined),
          })),
        },
      ],
    },
  };
}
