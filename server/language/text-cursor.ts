import type { ErrorPosition } from '#core/errors.ts';
/** Where an offset of a text lies, for messages; shared by all front ends. */
export interface TextPosition {
  /** From 1. */
  readonly line: number;
  /** In characters (code points), from 1; the end of the text is one past its last character. */
  readonly column: number;
}

/** The place of the word or sign that begins at `offset`; the end of the text has length 0. */
export function errorPositionAt(text: string, offset: number): ErrorPosition {
  const { line, column } = positionAt(text, offset);
  const length = /[\p{L}\p{N}_$]+|./suy;
  length.lastIndex = offset;
  return { line, column, offset, length: length.exec(text)?.[0].length ?? 0 };
}

/** Cost: one pass over the text before `offset`; only made for errors. */
export function positionAt(text: string, offset: number): TextPosition {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
    lineStart = at + 1;
  }
  return { line, column: codePointCount(text, lineStart, offset) + 1 };
}

function codePointCount(text: string, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    const isLowHalf =
      code >= 0xdc00 && code < 0xe000 && at > start && isHighHalf(text.charCodeAt(at - 1));
    if (!isLowHalf) count += 1;
  }
  return count;
}

function isHighHalf(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** Characters of the line that are shown on each side of the caret. */
const excerptSideMax = 60;

/** The line around `offset` with a caret before it, cut to some 120 characters, without control characters. */
export function excerptAt(text: string, offset: number): string {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  const newline = text.indexOf('\n', offset);
  const lineEnd = newline < 0 ? text.length : newline;
  const from = Math.max(lineStart, offset - excerptSideMax);
  const to = Math.min(lineEnd, offset + excerptSideMax);
  const before = (from > lineStart ? '...' : '') + text.slice(from, offset);
  const after = text.slice(offset, to) + (to < lineEnd ? '...' : '');
  return printable(`${before}^${after}`);
}

/** The text on one line: control characters become spaces, halves of characters a replacement mark. */
export function printable(text: string): string {
  return text.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ');
}
