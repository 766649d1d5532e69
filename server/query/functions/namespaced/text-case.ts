import type { EvaluationContext } from '../../evaluate/context.ts';
import { requireBytes } from '../number/bounds.ts';
import {
  classOf,
  codeAt,
  hasLongLower,
  hasLongUpper,
  isLowerOrNumber,
  isMark,
  isSpace,
  isUpper,
  isWordy,
  lowerUnit,
  upperUnit,
} from '../text/character-classes.ts';
import { readUnits, TextWriter, textOfUnits, unitsPerPart } from '../text/text-writer.ts';

/** Spellings of texts. Cost: some nanoseconds a character; texts have up to 64 MiB. */

/** Words of a text: runs of letters and digits, also split where a lower-case letter meets an upper-case one. */
class Words {
  readonly #text: string;
  /** The word that was read last. */
  start = 0;
  end = 0;
  /** The bits of all its characters (`character-classes.ts`); `isPaired` is one of them. */
  bits = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** @returns false when there is none left */
  next(): boolean {
    const text = this.#text;
    const { length } = text;
    let at = this.end;
    let code = 0;
    let own = 0;
    for (; at < length; at += code > 0xffff ? 2 : 1) {
      code = codeAt(text, at);
      own = classOf(code);
      if ((own & isWordy) !== 0) break;
    }
    if (at >= length) return false;
    this.start = at;
    this.bits = 0;
    let before = 0;
    while ((own & isWordy) !== 0) {
      if ((own & isUpper) !== 0 && (before & isLowerOrNumber) !== 0) break;
      this.bits |= code > 0xffff ? own | isPaired : own;
      before = own;
      at += code > 0xffff ? 2 : 1;
      if (at >= length) break;
      code = codeAt(text, at);
      own = classOf(code);
    }
    this.end = at;
    return true;
  }
}

/** Beside the bits of `character-classes.ts`: there is a character of two units. */
const isPaired = 256;

/** `hello world` becomes `helloWorld`. */
export function camelCase(text: string): string {
  const joined = upperCamelCase(text);
  return decapitalize(joined);
}

/** `hello world` becomes `HelloWorld`. */
export function upperCamelCase(text: string): string {
  const words = new Words(text);
  const writer = new TextWriter(text.length);
  while (words.next()) {
    const { start, end, bits } = words;
    const first = lowerUnit(text.charCodeAt(start));
    if ((bits & (isPaired | hasLongLower)) !== 0 || (classOf(first) & hasLongUpper) !== 0) {
      writer.text(capitalize(text.slice(start, end).toLowerCase()));
      continue;
    }
    writer.unit(upperUnit(first));
    writer.changed(text, start + 1, end, lowerUnit);
  }
  return writer.toText();
}

/** `helloWorld` becomes `hello_world`. */
export function snakeCase(text: string): string {
  const words = new Words(text);
  const writer = new TextWriter(text.length);
  while (words.next()) {
    if (writer.length > 0) writer.unit(underscore);
    writer.range(text, words.start, words.end);
  }
  return writer.toText().toLowerCase();
}

const underscore = 0x5f;

/** `Héllo, World!` becomes `hello-world`: lower case, without diacritics, other characters as one separator. */
export function slug(text: string, separator: string, context: EvaluationContext): string {
  const plain = text.normalize('NFD');
  const writer = new TextWriter(plain.length);
  let isBetween = false;
  let next = 0;
  for (let at = 0; at < plain.length; at = next) {
    const code = codeAt(plain, at);
    const bits = classOf(code);
    next = code > 0xffff ? at + 2 : at + 1;
    if ((bits & isWordy) === 0) {
      isBetween ||= (bits & isMark) === 0;
      continue;
    }
    if (isBetween && writer.length > 0) {
      requireBytes(writer.length + separator.length, context);
      writer.text(separator);
    }
    isBetween = false;
    while (next < plain.length && isWordyUnit(plain.charCodeAt(next))) next += 1;
    writer.range(plain, at, next);
  }
  return writer.toText().toLowerCase();
}

function isWordyUnit(unit: number): boolean {
  return (classOf(unit) & isWordy) !== 0;
}

/** Below this the regular expression is faster. */
const longText = 256;

/** The text without marks (`\p{M}`), which NFD and NFKD put behind their letters. */
export function withoutMarks(text: string): string {
  if (text.length < longText) return text.replace(/\p{M}+/gu, '');
  const writer = new TextWriter(text.length);
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = codeAt(text, at);
    const next = code > 0xffff ? at + 2 : at + 1;
    if ((classOf(code) & isMark) !== 0) {
      writer.range(text, from, at);
      from = next;
    }
    at = next - 1;
  }
  if (from === 0) return text;
  writer.range(text, from, text.length);
  return writer.toText();
}

export function capitalize(text: string): string {
  const first = firstCharacter(text);
  return first.toUpperCase() + text.slice(first.length);
}

export function decapitalize(text: string): string {
  const first = firstCharacter(text);
  return first.toLowerCase() + text.slice(first.length);
}

/** Every first character of a run without white space in upper case. */
export function capitalizeAll(text: string): string {
  return withFirsts(text, hasLongUpper, upperUnit, upperText);
}

/** Every first character of a run without white space in lower case. */
export function decapitalizeAll(text: string): string {
  return withFirsts(text, hasLongLower, lowerUnit, lowerText);
}

function withFirsts(
  text: string,
  isLong: number,
  changedUnit: (unit: number) => number,
  changedText: (character: string) => string,
): string {
  const parts: string[] = [];
  const units = new Uint16Array(Math.min(text.length, unitsPerPart));
  let isBehindSpace = true;
  for (let from = 0; from < text.length; from += units.length) {
    const count = readUnits(text, from, units);
    // What was copied of the part.
    let copied = 0;
    for (let at = 0; at < count; at += 1) {
      const unit = units[at] as number;
      const bits = classOf(unit);
      const isFirst = isBehindSpace;
      isBehindSpace = (bits & isSpace) !== 0;
      if (!isFirst || isBehindSpace) continue;
      if ((bits & isLong) === 0 && (unit & 0xfc00) !== 0xd800) {
        units[at] = changedUnit(unit);
        continue;
      }
      const code = codeAt(text, from + at);
      const character = String.fromCodePoint(code);
      const changed = changedText(character);
      // The second half of a pair is never a first character.
      if (changed === character) continue;
      parts.push(textOfUnits(units.subarray(copied), at - copied));
      parts.push(changed);
      at += code > 0xffff ? 1 : 0;
      copied = at + 1;
    }
    if (copied < count) parts.push(textOfUnits(units.subarray(copied), count - copied));
    // The second half of a pair at the end of the part was written with the first one.
    else if (copied > count) from += 1;
  }
  return parts.length === 1 ? (parts[0] as string) : parts.join('');
}

function upperText(character: string): string {
  return character.toUpperCase();
}

function lowerText(character: string): string {
  return character.toLowerCase();
}

function firstCharacter(text: string): string {
  const code = text.codePointAt(0);
  return code === undefined ? '' : String.fromCodePoint(code);
}
