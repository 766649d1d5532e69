import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';

/**
 * Golden files: directive, input, `----`, output, one blank line.
 *
 * ```text
 * # Why this case exists; comments stand between cases.
 * plan language=cypher expect=FilterToIndexSearch
 * MATCH (p:Person {email: $email}) RETURN p.name
 * ----
 * Project p.name:1
 * ```
 *
 * The first word of the directive line is the command, the rest are `key=value` pairs (a bare `key` means `key=true`;
 * values may be double-quoted). An output that itself holds blank lines is written between two lines `----` and
 * ends with two lines `----`. `REWRITE=1` (npm run rewrite) records outputs instead of comparing them: read the
 * difference before you commit it.
 */
export interface GoldenCase {
  readonly command: string;
  readonly options: ReadonlyMap<string, string>;
  readonly input: string;
  readonly expected: string;
  /** 1-based line of the directive. */
  readonly line: number;
}

export type GoldenRunner = (golden: GoldenCase) => string | Promise<string>;

interface Piece {
  readonly golden: GoldenCase | undefined;
  /** Comments and blank lines before the case, or after the last one. */
  readonly leading: string;
}

const isRewriting = process.env['REWRITE'] === '1';

/**
 * Registers one test for the file; cases run in order and share whatever state `run` closes over. Every case that
 * differs is reported, with its line.
 *
 * @param file path or file URL of the golden file
 */
export function runGoldenFile(file: string | URL, run: GoldenRunner): void {
  const name = String(file).split('/').slice(-2).join('/');
  test(`golden file ${name}`, async () => {
    const pieces = parse(readFileSync(file, 'utf8'), name);
    const failures: string[] = [];
    const rewritten: string[] = [];
    for (const { golden, leading } of pieces) {
      rewritten.push(leading);
      if (!golden) continue;
      const actual = (await outputOf(golden, run)).replace(/\s+$/, '');
      rewritten.push(print(golden, actual));
      if (actual !== golden.expected) {
        failures.push(
          `${name}:${golden.line} ${golden.command}\n${golden.input}\n---- expected\n${golden.expected}\n---- actual\n${actual}`,
        );
      }
    }
    if (isRewriting) writeFileSync(file, rewritten.join(''));
    else
      assert.equal(
        failures.length,
        0,
        `${failures.length} cases differ\n\n${failures.join('\n\n')}`,
      );
  });
}

/** An error is an output like any other: `error <name or code>: <message>`. */
async function outputOf(golden: GoldenCase, run: GoldenRunner): Promise<string> {
  try {
    return await run(golden);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const code = 'code' in error ? String(error.code) : error.name;
    return `error ${code}: ${error.message}`;
  }
}

function parse(text: string, name: string): Piece[] {
  const lines = text.split('\n');
  const pieces: Piece[] = [];
  let leading = '';
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    if (line.trim() === '' || line.startsWith('#')) {
      const isLast = at === lines.length - 1;
      leading += isLast ? line : `${line}\n`;
      at += 1;
      continue;
    }
    const directiveAt = at;
    const separatorAt = lines.indexOf('----', at + 1);
    assert.ok(separatorAt > 0, `${name}:${at + 1}: no line '----' after the directive`);
    const input = lines.slice(at + 1, separatorAt).join('\n');
    const isFenced = lines[separatorAt + 1] === '----';
    let end = separatorAt + (isFenced ? 2 : 1);
    const start = end;
    if (isFenced) {
      while (end < lines.length && !(lines[end] === '----' && lines[end + 1] === '----')) end += 1;
    } else {
      while (end < lines.length && lines[end] !== '') end += 1;
    }
    const expected = lines.slice(start, end).join('\n');
    pieces.push({
      leading,
      golden: { ...parseDirective(line), input, expected, line: directiveAt + 1 },
    });
    leading = '';
    at = isFenced ? end + 2 : end;
  }
  pieces.push({ leading, golden: undefined });
  return pieces;
}

function parseDirective(line: string): { command: string; options: Map<string, string> } {
  const words = line.match(/(?:[^\s"]+|"[^"]*")+/g) ?? [];
  const options = new Map<string, string>();
  for (const word of words.slice(1)) {
    const equals = word.indexOf('=');
    if (equals < 0) options.set(word, 'true');
    else options.set(word.slice(0, equals), word.slice(equals + 1).replace(/^"(.*)"$/, '$1'));
  }
  return { command: words[0] ?? '', options };
}

function print(golden: GoldenCase, output: string): string {
  const options = [...golden.options].map(([key, value]) => {
    if (value === 'true') return ` ${key}`;
    return ` ${key}=${/\s/.test(value) ? `"${value}"` : value}`;
  });
  const head = `${golden.command}${options.join('')}\n${golden.input === '' ? '' : `${golden.input}\n`}`;
  const isFenced = /(^|\n)\n|^$/.test(output) && output.includes('\n\n');
  return isFenced
    ? `${head}----\n----\n${output}\n----\n----\n`
    : `${head}----\n${output === '' ? '' : `${output}\n`}`;
}
