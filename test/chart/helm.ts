import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { rootDirectory } from '#test/tidy/source-tree.ts';

/** The programs `helm3` and `helm4` on the path; `helm` stands in for both when neither is there. Empty: tests are skipped. */
export const helms: readonly string[] = found('helm3', 'helm4').length
  ? found('helm3', 'helm4')
  : found('helm');

export const skipWithoutHelm =
  helms.length === 0
    ? 'no helm on the path (the environment of a test cluster brings helm3 and helm4)'
    : false;

export const chartDirectory = join(rootDirectory, 'chart');

function found(...programs: readonly string[]): readonly string[] {
  return programs.filter((program) =>
    (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
      try {
        accessSync(join(folder, program), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    }),
  );
}

export interface Outcome {
  readonly isGood: boolean;
  readonly output: string;
  readonly error: string;
}

const bytesMax = 16 * 1024 * 1024;

/** Runs a program of the chart's world; never throws for its exit code. */
export function runProgram(program: string, words: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(program, words, { maxBuffer: bytesMax }, (failure, output, error) =>
      resolve({ isGood: failure === null, output, error: error || (failure?.message ?? '') }),
    );
  });
}

/** A Kubernetes object as tests look into it. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of many kinds
  readonly spec?: any;
  readonly data?: Readonly<Record<string, string>>;
  readonly rules?: readonly object[];
  readonly immutable?: boolean;
}

export function template(helm: string, ...words: readonly string[]): Promise<Outcome> {
  return runProgram(helm, ['template', 'orders', chartDirectory, '--namespace', 'shop', ...words]);
}

/** Objects of a render, sorted by kind and name. @throws Error when an object is no object */
export function objectsOf(output: string): readonly Rendered[] {
  const objects: Rendered[] = [];
  for (const document of parseAllDocuments(output)) {
    if (document.errors.length > 0) throw new Error(String(document.errors[0]));
    const object = document.toJS() as Rendered | null;
    if (object !== null) objects.push(object);
  }
  const place = ({ kind, metadata }: Rendered) =>
    `${kind} ${metadata.namespace ?? ''} ${metadata.name}`;
  return objects.sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

/** The render of values given with `--set`. @throws Error with what Helm said */
export async function renderWith(...sets: readonly string[]): Promise<readonly Rendered[]> {
  const words = sets.flatMap((set) => (set.startsWith('--') ? [set] : ['--set', set]));
  const { isGood, output, error } = await template(helms[0] ?? '', ...words);
  if (!isGood) throw new Error(error);
  return objectsOf(output);
}

export function pick(objects: readonly Rendered[], kind: string, name?: string): Rendered {
  const found = objects.find(
    (object) => object.kind === kind && (name === undefined || object.metadata.name === name),
  );
  if (found === undefined) throw new Error(`no ${kind} ${name ?? ''} was rendered`);
  return found;
}
