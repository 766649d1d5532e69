import { EnvironmentParts } from '#storage/parts/environment-parts.ts';

/** Database 'test', as one member sends it to another: the newest state of an environment. */
export function partsOf(directory: string): readonly Buffer[] {
  const sender = new EnvironmentParts(directory, {
    database: 'test',
    uuid: 'u-1',
    appliedIndex: 7,
  });
  const parts: Buffer[] = [];
  for (;;) {
    const part = sender.part(parts.length);
    if (part === undefined) break;
    parts.push(part);
  }
  void sender.close();
  return parts;
}
