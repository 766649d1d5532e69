import type { DatabaseError } from '#core/errors.ts';
import { Log, openEngine, person, propertiesOf, put, turnTimers } from './engine-fixture.ts';

// Writes under a limit for the size of files, until a write fails for good; says what was acknowledged, one line per commit, then
// what it was told, and that it still reads and refuses.

const [directory = '', bytes = '100'] = process.argv.slice(2);
const engine = openEngine(directory, { timers: turnTimers });
let log = new Log(engine);

async function commit(position: number): Promise<DatabaseError | undefined> {
  try {
    await log.commit(
      put(engine, person(position), { value: `${position} ${'x'.repeat(Number(bytes))}` }),
    );
    return undefined;
  } catch (error) {
    log = new Log(engine);
    return error as DatabaseError;
  }
}

for (let position = 0; ; position += 1) {
  const error = await commit(position);
  if (error === undefined) {
    process.stdout.write(`${position}\n`);
    continue;
  }
  const again = await commit(position + 1);
  const first = propertiesOf(engine, person(0))?.get('value');
  await engine.close();
  process.stdout.write(
    `failed ${JSON.stringify({
      first: error.message,
      after: again?.message,
      reads: String(first).startsWith('0 x'),
    })}\n`,
  );
  break;
}
