import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseFeature, type Scenario } from './gherkin.ts';

/** The suite lies beside the project, and is no part of it. */
export const suiteDirectory = fileURLToPath(
  new URL('../../../../shared/conformance/opencypher', import.meta.url),
);

export function isSuiteThere(): boolean {
  return existsSync(suiteDirectory);
}

export interface PlacedScenario {
  /** `clauses/match` */
  readonly folder: string;
  /** `clauses/match/Match1.feature: [1] Match nodes` */
  readonly title: string;
  readonly scenario: Scenario;
}

export function readSuite(): readonly PlacedScenario[] {
  const features = `${suiteDirectory}/features`;
  return readdirSync(features, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.feature'))
    .sort()
    .flatMap((path) =>
      parseFeature(readFileSync(`${features}/${path}`, 'utf8')).map((scenario) => ({
        folder: relative('.', dirname(path)),
        title: `${path}: ${scenario.name}`,
        scenario,
      })),
    );
}
