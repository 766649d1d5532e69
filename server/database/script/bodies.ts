import type { FunctionDefinition, TriggerDefinition } from '#catalog/definitions.ts';
import { fullName } from '#catalog/definitions.ts';
import { polyglotCommandMaxMemory, polyglotCommandTimeout } from '#config/settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { Link } from '#core/value/record.ts';
import { noRid } from '#core/value/rid.ts';
import { isMap, type Value } from '#core/value/value.ts';
import { parseJson } from '#core/value/json-value.ts';
import type { ScriptEngine, ScriptOutcome } from '#platform/script/engine.ts';
import type { TriggerSubject, TriggerVerdict } from '#transaction/trigger/trigger-runner.ts';
import {
  changedProperties,
  scriptParameters,
  scriptRequest,
  scriptRows,
  scriptValue,
} from './values.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';

/** How a script that runs for a statement reaches it. */
export interface ScriptPlace {
  /** Stands for the statement or transaction: its scripts keep their state among themselves. */
  readonly owner: object;
  readonly limits: StatementLimits;
  /** Runs a statement for `database`. @returns its rows */
  run(
    text: string,
    parameters: ReadonlyMap<string, Value>,
    mayWrite: boolean,
  ): PausingWork<readonly Value[]>;
}

/** Runs triggers and functions in JavaScript (sql.md 14.1, 14.2; security.md 5.3). */
export class ScriptBodies {
  readonly #engine: ScriptEngine;
  readonly #owners = new WeakMap<object, number>();
  readonly #database: string;
  #ownerCount = 0;

  constructor(engine: ScriptEngine, database: string) {
    this.#engine = engine;
    this.#database = database;
  }

  /** @returns false for a veto; the changed properties of a record that is not yet written */
  *fire(
    trigger: TriggerDefinition,
    subject: TriggerSubject,
    place: ScriptPlace,
  ): PausingWork<TriggerVerdict> {
    const { record = null, oldRecord = null } = subject;
    const isBefore = trigger.timing === 'BEFORE';
    const mayChange = isBefore && (trigger.event === 'CREATE' || trigger.event === 'UPDATE');
    const rid = subject.rid === noRid ? null : new Link(subject.rid);
    const request = scriptRequest(
      { args: [], record, oldRecord, rid, mayChange },
      place.limits.formats,
    );
    const what = `trigger '${trigger.name}'`;
    const done = yield* this.#run(what, { parameters: [], body: trigger.action, request }, place);
    if (done.result === 'false') return false;
    if (!mayChange || record === null) return true;
    return changedProperties(record, done.changes) ?? true;
  }

  *call(
    defined: FunctionDefinition,
    args: readonly Value[],
    place: ScriptPlace,
  ): PausingWork<Value> {
    const { parameters, body } = defined;
    const given = parameters.map((_, at) => args[at] ?? null);
    const request = scriptRequest({ args: given, mayChange: false }, place.limits.formats);
    const what = `function '${fullName(defined)}'`;
    const done = yield* this.#run(what, { parameters, body, request }, place);
    return scriptValue(done.result);
  }

  *#run(
    name: string,
    script: { readonly parameters: readonly string[]; body: string; request: string },
    place: ScriptPlace,
  ): PausingWork<Extract<ScriptOutcome, { kind: 'done' }>> {
    const { limits } = place;
    const timeoutMs = limits.scriptTimeMs;
    const key = `${this.#database}/${this.#numberOf(place.owner)}/${name}`;
    const outcome = yield* this.#engine.run({ name, key, ...script, timeoutMs }, (text) =>
      answerOf(text, place),
    );
    switch (outcome.kind) {
      case 'done':
        return outcome;
      case 'threw':
        throw new DatabaseError('CommandExecution', `${name}: ${outcome.message}`);
      case 'late':
        throw new DatabaseError(
          'Timeout',
          `${name} takes longer than ${polyglotCommandTimeout.key} (${timeoutMs} ms)`,
        );
      case 'out-of-memory':
        throw new DatabaseError(
          'TooLarge',
          `${name} needs more memory than ${polyglotCommandMaxMemory.key} allows`,
        );
    }
  }

  #numberOf(owner: object): number {
    const known = this.#owners.get(owner);
    if (known !== undefined) return known;
    this.#ownerCount += 1;
    this.#owners.set(owner, this.#ownerCount);
    return this.#ownerCount;
  }
}

/** Answers `database.query` and `database.command`; whatever goes wrong is an error in the script. */
function* answerOf(request: string, place: ScriptPlace): PausingWork<string> {
  const { formats } = place.limits;
  try {
    const asked = parseJson(request);
    if (!isMap(asked)) return scriptRows({ error: 'no statement' }, formats);
    const language = String(asked.get('language'));
    if (language.toLowerCase() !== 'sql') {
      const error = `not supported: language '${language}' in a script; use 'sql'`;
      return scriptRows({ error }, formats);
    }
    const parameters = scriptParameters(String(asked.get('parameters')));
    if (parameters === undefined)
      return scriptRows({ error: 'parameters must be an object or a list' }, formats);
    const mayWrite = asked.get('ask') === 'command';
    const rows = yield* place.run(String(asked.get('text')), parameters, mayWrite);
    return scriptRows({ rows }, formats);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return scriptRows({ error: error.message }, formats);
  }
}
