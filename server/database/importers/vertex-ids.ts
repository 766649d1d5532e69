import { type SchemaTypeName, schemaTypeNamed } from '#core/value/conversion.ts';
import { DatabaseError } from '#core/errors.ts';
import { textOf } from '#core/text/text-form.ts';
import type { ImportJob } from './import-job.ts';

/**
 * Declares the property that names vertices, with a unique index, when the settings ask for one.
 * @throws DatabaseError `IllegalArgument` for an unknown type of the property
 */
export async function declareVertexId({ database, settings, sink }: ImportJob): Promise<void> {
  const { typeIdProperty, typeIdUnique, typeIdType, vertexType } = settings;
  if (typeIdProperty === undefined || !typeIdUnique) return;
  const dataType = schemaTypeNamed(typeIdType);
  if (dataType === undefined)
    throw new DatabaseError(
      'IllegalArgument',
      `import setting 'typeIdType' is '${typeIdType.slice(0, 40)}', which is no type of a property`,
    );
  await sink.commit();
  await declareId(database, { type: vertexType, property: typeIdProperty, dataType });
}

/** Declares a property that names records, with a unique index, where they are missing. */
export async function declareId(
  { state }: ImportJob['database'],
  { type, property, dataType }: { type: string; property: string; dataType: SchemaTypeName },
): Promise<void> {
  await state.alter({
    kind: 'create-property',
    type,
    property,
    ifNotExists: true,
    dataType,
    ofType: undefined,
    attributes: [],
    custom: new Map(),
  });
  await state.alter({
    kind: 'create-index',
    name: undefined,
    ifNotExists: true,
    type,
    components: [{ property, by: 'value', caseInsensitive: false }],
    componentText: property,
    indexKind: 'LSM_TREE',
    unique: true,
    nullStrategy: 'SKIP',
    metadata: new Map(),
  });
}

/**
 * Makes the vertices known that an earlier import has stored, by the text of their id, so that edges may name them. Reads all
 * vertices of the type, in turns.
 */
export async function knowStoredVertices(job: ImportJob): Promise<void> {
  const { database, settings, sink } = job;
  const { typeIdProperty, vertexType } = settings;
  if (typeIdProperty === undefined) return;
  await sink.commit();
  const formats = database.formats();
  using view = database.state.view();
  const { catalog } = view;
  const type = catalog.typeNamed(vertexType);
  if (type?.kind !== 'vertex') return;
  for (const id of catalog.withSubtypes(type.id)) {
    for (const bucket of catalog.typeWithId(id).buckets) {
      const cursor = view.scan(bucket, 'ascending');
      for (let record = cursor.next(); record !== undefined; record = cursor.next()) {
        const value = record.get(typeIdProperty);
        if (value !== undefined && value !== null)
          sink.nameStored(textOf(value, formats), record.rid);
        const turn = sink.pace();
        if (turn !== undefined) await turn;
      }
    }
  }
}
