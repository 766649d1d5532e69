import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SourceFile, sourceFiles } from './source-tree.ts';

// No file leads back to itself through its imports, those of types included: a reader may start at any file and go down.

/**
 * Grammars whose sentences contain each other, too long for one file: a subquery is an expression and holds a plan or a statement. Their
 * files name types of one another and nothing else.
 */
const grammars: readonly (readonly string[])[] = [
  ['server/language/sql/ast.ts', 'server/language/sql/statements.ts'],
  [
    'server/query/algebra/expression.ts',
    'server/query/algebra/maintenance.ts',
    'server/query/algebra/pattern.ts',
    'server/query/algebra/plan.ts',
  ],
];

const files = sourceFiles('server', 'operator');

/** The strongly connected sets of more than one file (Tarjan 1972), each sorted. */
function circlesOf(sources: readonly SourceFile[]): readonly (readonly string[])[] {
  const byPath = new Map(sources.map((file) => [file.path, file]));
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (path: string): void => {
    order.set(path, order.size);
    let low = order.get(path) ?? 0;
    stack.push(path);
    for (const { path: to } of byPath.get(path)?.imports ?? []) {
      if (to === undefined || !byPath.has(to)) continue;
      if (!order.has(to)) visit(to);
      if (stack.includes(to)) low = Math.min(low, lowest.get(to) ?? order.get(to) ?? low);
    }
    lowest.set(path, low);
    if (low !== order.get(path)) return;
    const circle = stack.splice(stack.indexOf(path));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const { path } of sources) if (!order.has(path)) visit(path);
  return circles.sort((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1));
}

test('no imports run in a circle, but for the grammars that are named', () => {
  const statically = files.map((file) => ({
    ...file,
    // What is loaded while the server runs is no part of reading a file from top to bottom.
    imports: file.imports.filter(({ specifier, line }) => {
      const text = file.lines[line - 1] ?? '';
      return !text.includes('import(') && !text.includes(`new URL('${specifier}`);
    }),
  }));
  assert.deepEqual(circlesOf(statically), grammars);
});

test('files of a grammar name only types of one another', () => {
  const violations: string[] = [];
  for (const grammar of grammars)
    for (const file of files.filter(({ path }) => grammar.includes(path)))
      for (const { specifier, path } of file.imports) {
        if (path === undefined || !grammar.includes(path)) continue;
        const named = file.text.split(`from '${specifier}'`)[0] ?? '';
        const statement = named.slice(
          Math.max(named.lastIndexOf('\nimport '), named.lastIndexOf('\nexport ')),
        );
        const first = named.lastIndexOf('\n') < 0 ? named : statement.trimStart();
        if (!/^(import|export) type\b/.test(first)) violations.push(`${file.path}: ${specifier}`);
      }
  assert.deepEqual(violations, []);
});

test('a circle is found where there is one', () => {
  const file = (path: string, ...to: string[]): SourceFile => ({
    path,
    text: '',
    lines: [],
    imports: to.map((target) => ({ specifier: target, path: target, line: 1 })),
  });
  const found = circlesOf([file('a', 'b'), file('b', 'c', 'd'), file('c', 'b'), file('d')]);
  assert.deepEqual(found, [['b', 'c']]);
});
