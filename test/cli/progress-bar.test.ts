import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { ProgressBar } from '#cli/progress-bar.ts';

function barOn(isTTY: boolean): { readonly bar: ProgressBar; readonly written: () => string } {
  const messages = Object.assign(new PassThrough(), { isTTY, columns: 60 });
  const bar = new ProgressBar({
    input: new PassThrough(),
    output: new PassThrough(),
    messages,
    environment: {},
    nowMs: () => 0,
  });
  let text = '';
  return {
    bar,
    written: () => {
      text += String(messages.read() ?? '');
      return text;
    },
  };
}

test('a bar shows the share that is done and what is told, and goes away without a trace', () => {
  const { bar, written } = barOn(true);
  bar.show(0.5, '12 records');
  assert.match(written(), /\[#{15}-{15}\] {2}50 % 12 records/);
  bar.clear();
  assert.ok(written().endsWith('\u001b[1G\u001b[2K'), JSON.stringify(written()));
  const { length } = written();
  bar.clear();
  assert.equal(written().length, length);
});

test('where nobody knows how much there is, only the text stands', () => {
  const { bar, written } = barOn(true);
  bar.show(undefined, '12 records');
  bar.clear();
  assert.match(written(), /12 records/);
  assert.doesNotMatch(written(), /%/);
});

test('a share out of range is shown as none or all', () => {
  for (const [share, shown] of [
    [-1, '  0 %'],
    [7, '100 %'],
    [Number.NaN, '  0 %'],
  ] as const) {
    const { bar, written } = barOn(true);
    bar.show(share, 'x');
    bar.clear();
    assert.ok(written().includes(shown), written());
  }
});

test('a long line is cut to the width, and text of a server steers no terminal', () => {
  const { bar, written } = barOn(true);
  bar.show(0.5, `\u001b]0;owned\u0007${'long '.repeat(40)}`);
  bar.clear();
  assert.ok(written().includes('\\u001b]0;owned\\u0007'));
  assert.ok(!written().includes('\u001b]0'));
  for (const line of written().split('\u001b[1G')) assert.ok(line.length <= 70, line);
});

test('where messages go to no terminal, nothing is written', () => {
  const { bar, written } = barOn(false);
  bar.show(0.5, 'x');
  bar.clear();
  assert.equal(written(), '');
});
