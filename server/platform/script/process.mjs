import { readSync, writeSync } from 'node:fs';
import vm from 'node:vm';

/*
 * The process that runs scripts of users (security.md 5.3), started by `broker.mjs` without rights on files, processes,
 * threads and addons, without environment, with a small heap, its own intrinsics frozen. It reads frames (length in four bytes, JSON) from its input, and
 * waits for each: nothing here is asynchronous, so a script may ask the server in the middle and get its answer.
 *
 * A script sees a context without any object of this realm: texts go in and out, and whatever may fail is caught inside.
 * Contexts are kept by key, so that a statement that calls a function for each record pays for one; another statement
 * gets another one, and finds nothing that a script left.
 */

const input = 0;
const output = 1;
/** First letter of a frame that answers what a script has asked; others are calls. */
const answerFrame = 'A';
/** First letters of what goes out. Nothing a script makes of its own world may turn one into the other. */
const questionFrame = 'Q';
const doneFrame = 'D';
const contextsMax = 16;
const scriptsMax = 200;

/** Ends with the server: no more input. */
function read(length) {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const count = readSync(input, bytes, at, length - at, null);
    if (count === 0) process.exit(0);
    at += count;
  }
  return bytes;
}

function receive() {
  return read(read(4).readUInt32LE(0)).toString();
}

function send(text) {
  const body = Buffer.from(text);
  const head = Buffer.allocUnsafe(4);
  head.writeUInt32LE(body.length);
  const bytes = Buffer.concat([head, body]);
  for (let at = 0; at < bytes.length; ) at += writeSync(output, bytes, at);
}

/**
 * What a script does with `database`; never throws, since an error of this realm would be an object of this realm. Before the
 * server answers it may call a script that the statement of this one sets off.
 */
function askServer(request) {
  try {
    send(questionFrame + request);
    for (;;) {
      const frame = receive();
      if (frame[0] === answerFrame) return frame.slice(1);
      send(doneFrame + run(JSON.parse(frame.slice(1))));
    }
  } catch {
    return '{"error":"the server did not answer"}';
  }
}

/**
 * Runs in each context before the script. What it needs later it takes now, so that nothing the script does to its
 * own world changes how its result is read.
 */
const bootstrap = new vm.Script(
  `(function (ask) {
  'use strict';
  const world = globalThis;
  const { parse, stringify, rawJSON } = JSON;
  const { keys, create, defineProperty, prototype: objectPrototype } = Object;
  const { apply } = Reflect;
  const hasOwn = Object.hasOwn;
  const text = String;
  const { Error, Promise } = world;
  for (const name of ['ArrayBuffer', 'SharedArrayBuffer', 'DataView', 'Atomics', 'WebAssembly', 'FinalizationRegistry',
    'WeakRef', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array',
    'Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']) delete world[name];
  const silent = () => {};
  const hidden = (object, name, value) => defineProperty(object, name, { value, writable: true, configurable: true });
  hidden(world, 'console', { log: silent, info: silent, warn: silent, error: silent, debug: silent });
  // Texts of errors say nothing of the files of the server: no frames, whatever the script asks for.
  defineProperty(Error, 'stackTraceLimit', { value: 0, writable: false, configurable: false });
  const jsonPart = (_, part) => {
    if (typeof part === 'bigint') return rawJSON(text(part));
    if (typeof part !== 'number' || (part - part === 0)) return part;
    return part > 0 ? 'PosInfinity' : part < 0 ? 'NegInfinity' : 'NaN';
  };
  const toJson = (value) => {
    const found = stringify(value, jsonPart);
    return found === undefined ? 'null' : found;
  };
  const recordPrototype = create(objectPrototype, {
    get: { value(name) { return hasOwn(this, name) ? this[name] : null; } },
    set: { value(name, value) { this[name] = value; return this; } },
    has: { value(name) { return hasOwn(this, name); } },
    remove: { value(name) { const was = hasOwn(this, name) ? this[name] : null; delete this[name]; return was; } },
  });
  const recordOf = (given) => {
    if (given === null) return null;
    const record = create(recordPrototype);
    for (const name of keys(given.properties))
      defineProperty(record, name, { value: given.properties[name], writable: true, enumerable: true, configurable: true });
    for (const name of keys(given.system)) defineProperty(record, name, { value: given.system[name] });
    return record;
  };
  const changesOf = (before, record) => {
    const set = create(null);
    const removed = [];
    for (const name of keys(record)) {
      if (typeof record[name] === 'function' || record[name] === undefined) continue;
      const now = toJson(record[name]);
      if (!hasOwn(before, name) || before[name] !== now) set[name] = now;
    }
    for (const name of keys(before)) if (!hasOwn(record, name) || record[name] === undefined) removed.push(name);
    return { set, removed };
  };
  const query = (kind) => (language, statement, parameters) => {
    let answer;
    try {
      answer = ask(stringify({ ask: kind, language: text(language), text: text(statement), parameters: toJson(parameters ?? {}) }));
    } catch (error) {
      throw new Error('database.' + kind + ' failed');
    }
    const { rows, error } = parse(answer);
    if (error !== undefined) throw new Error(error);
    return rows;
  };
  const messageOf = (thrown) => {
    try {
      const message = thrown !== null && typeof thrown === 'object' && 'message' in thrown ? thrown.message : thrown;
      return apply(text.prototype.slice, text(message), [0, 2000]);
    } catch {
      return 'the script threw what has no text';
    }
  };
  return (request, script) => () => {
    const { args, record, oldRecord, rid, isTrigger, mayChange } = parse(request);
    let subject = null;
    const before = create(null);
    if (isTrigger) {
      subject = recordOf(record);
      hidden(world, 'record', subject);
      hidden(world, 'oldRecord', recordOf(oldRecord));
      hidden(world, 'rid', rid);
      hidden(world, 'database', { query: query('query'), command: query('command') });
      if (subject !== null) for (const name of keys(subject)) before[name] = toJson(subject[name]);
    }
    try {
      const result = apply(script, world, args);
      if (result instanceof Promise) throw new Error('a script has to give its result at once, not a promise');
      const changes = mayChange && subject !== null ? changesOf(before, subject) : undefined;
      return stringify({ result: toJson(result), changes });
    } catch (thrown) {
      return stringify({ error: messageOf(thrown) });
    }
  };
})`,
  { filename: 'bootstrap' },
);

/** Takes the run out of the context before it starts it. */
const starter = new vm.Script(
  `(() => { const run = globalThis.$run; delete globalThis.$run; return run(); })()`,
  { filename: 'start' },
);

const contexts = new Map();
const scripts = new Map();

function contextOf(key) {
  let context = contexts.get(key);
  if (context === undefined) {
    const world = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
      codeGeneration: { strings: false, wasm: false },
      microtaskMode: 'afterEvaluate',
    });
    context = { world, prepare: bootstrap.runInContext(world)(askServer), functions: new Map() };
  }
  contexts.delete(key);
  contexts.set(key, context);
  if (contexts.size > contextsMax) contexts.delete(contexts.keys().next().value);
  return context;
}

function scriptOf(source, name) {
  let script = scripts.get(source);
  if (script === undefined) {
    script = new vm.Script(source, { filename: name });
    if (scripts.size === scriptsMax) scripts.delete(scripts.keys().next().value);
    scripts.set(source, script);
  }
  return script;
}

function run({ key, name, source, request, timeoutMs }) {
  try {
    const context = contextOf(key);
    let script = context.functions.get(source);
    if (script === undefined) {
      script = scriptOf(source, name).runInContext(context.world);
      context.functions.set(source, script);
    }
    Object.defineProperty(context.world, '$run', {
      value: context.prepare(request, script),
      configurable: true,
    });
    const answer = starter.runInContext(context.world, { timeout: timeoutMs });
    if (typeof answer === 'string') return answer;
    contexts.delete(key);
    return '{"error":"the script left no result"}';
  } catch (error) {
    // Nobody knows in which state a script was stopped.
    contexts.delete(key);
    if (error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return '{"timeout":true}';
    return JSON.stringify({ error: String(error?.message ?? 'the script failed').slice(0, 2000) });
  }
}

for (;;) send(doneFrame + run(JSON.parse(receive().slice(1))));
