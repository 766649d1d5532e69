import type { PausingWork } from '../pausing-work.ts';

/** A record of so many properties is read, checked and written with pauses, where whoever does it can pause. */
export const manyProperties = 1_024;
/** Properties between two places to pause: a fraction of a millisecond. */
export const propertiesPerStep = 256;

/** As `every` of a list, with pauses; those after the first that fails are not asked. */
export function* everyInSteps<T>(
  properties: Iterable<T>,
  holds: (property: T) => boolean,
): PausingWork<boolean> {
  let count = 0;
  for (const property of properties) {
    if (!holds(property)) return false;
    count += 1;
    if (count % propertiesPerStep === 0) yield;
  }
  return true;
}

/** Goes through the properties of a record, with pauses. */
export function* eachInSteps<T>(
  properties: Iterable<T>,
  visit: (property: T) => void,
): PausingWork<void> {
  yield* everyInSteps(properties, (property) => {
    visit(property);
    return true;
  });
}
