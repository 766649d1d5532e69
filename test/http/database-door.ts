import type { TestContext } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../database/support/open-test-database.ts';
import { type DoorFixture, startDoor } from './door-fixture.ts';

export interface DatabaseDoor {
  readonly door: DoorFixture;
  readonly data: TestDatabase;
}

/** A door in front of a real database, `test`, in place of made-up ones; closed behind the test. */
export async function startDatabaseDoor(
  context: TestContext,
  settings: {
    readonly ofDoor?: Readonly<Record<string, string>>;
    readonly ofDatabase?: Readonly<Record<string, string>>;
  } = {},
): Promise<DatabaseDoor> {
  let data: TestDatabase | undefined;
  const door = await startDoor(context, settings.ofDoor ?? {}, async (authorizer) => {
    data = await openTestDatabase({ authorizer, settings: settings.ofDatabase ?? {} });
    return data.databases;
  });
  if (data === undefined) throw new Error('no database');
  const opened = data;
  context.after(() => opened.close());
  return { door, data: opened };
}
