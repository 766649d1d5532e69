import { isMap } from '#core/value/value.ts';
import { syntaxError } from '../../syntax-error.ts';
import type { Expression } from '../ast.ts';
import { isOperation } from '../analyze/operation.ts';
import {
  analyzeOperationProgram,
  analyzeProgram,
  analyzeValueProgram,
} from '../analyze/statement.ts';
import { scriptStatementNames } from '../analyze/outline.ts';
import {
  type Command,
  type Inspect,
  isScriptStatement,
  type ScriptStatement,
  type Statement,
} from '../statements.ts';
import { effectsOfSyntax } from './effects.ts';
import type {
  Block,
  OperationStep,
  Part,
  QueryStep,
  RetryStep,
  SqlScript,
  Step,
} from '../../script-steps.ts';

type Commit = Extract<ScriptStatement, { readonly kind: 'commit' }>;
type Begin = Extract<ScriptStatement, { readonly kind: 'begin' }>;

/** Where a block stands. */
interface Place {
  readonly isInLoop: boolean;
  /** A BEGIN stands open around the block. */
  readonly isBegun: boolean;
}

/**
 * The program of a parsed script, or of a script statement that stands alone.
 * @param text what the offsets in the tree point into
 * @throws DatabaseError `Syntax` for a BREAK outside a loop, a COMMIT without a BEGIN
 */
export function scriptOf(text: string, statements: readonly Statement[]): SqlScript {
  const builder = new ScriptBuilder(text);
  const steps = builder.block(statements, { isInLoop: false, isBegun: false });
  const { parts, names } = builder;
  return { kind: 'script', steps, parts, names, effects: effectsOfSyntax(statements) };
}

/** A script statement alone, as language `sql` takes it: in a session, COMMIT needs no BEGIN there. */
export function singleStatementScript(text: string, statement: Statement): SqlScript {
  const builder = new ScriptBuilder(text);
  const place = { isInLoop: false, isBegun: withoutProfile(statement).kind === 'commit' };
  const steps = builder.block([statement], place);
  const { parts, names } = builder;
  return { kind: 'script', steps, parts, names, effects: effectsOfSyntax(statement) };
}

class ScriptBuilder {
  readonly parts: Part[] = [];
  readonly names = new Set<string>();
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  block(statements: readonly Statement[], place: Place): Block {
    const steps: Step[] = [];
    /** BEGINs that are open at this point, as indexes into `steps`. */
    const open: { at: number; begin: Begin }[] = [];
    for (const statement of statements) {
      const isBegun = place.isBegun || open.length > 0;
      if (statement.kind === 'begin') open.push({ at: steps.length, begin: statement });
      if (statement.kind === 'rollback') open.pop();
      if (statement.kind !== 'commit') {
        steps.push(this.#step(statement, { ...place, isBegun }));
        continue;
      }
      const begun = open.pop();
      if (begun === undefined && (!place.isBegun || statement.retry !== undefined))
        throw this.#fault(statement.at, 'Found COMMIT statement without a BEGIN');
      if (begun === undefined || statement.retry === undefined) {
        steps.push({ kind: 'commit' });
        continue;
      }
      const body = steps.splice(begun.at).slice(1);
      steps.push(this.#retry(begun.begin, body, statement, place));
    }
    return steps;
  }

  #retry(begin: Begin, body: Block, commit: Commit, place: Place): RetryStep {
    return {
      kind: 'retry',
      isolation: begin.isolation ?? 'READ_COMMITTED',
      body,
      attemptCount: commit.retry ?? 1,
      otherwise: this.block(commit.otherwise, { ...place, isBegun: false }),
      goesOn: commit.afterFailure === 'continue',
    };
  }

  #step(statement: Statement, place: Place): Step {
    switch (statement.kind) {
      case 'let':
        return {
          kind: 'let',
          items: statement.items.map(({ name, value }) => {
            this.names.add(name);
            return { name, value: this.#value(value) };
          }),
        };
      case 'setGlobal':
        this.names.add(statement.name);
        return { kind: 'setGlobal', name: statement.name, value: this.#value(statement.value) };
      case 'return':
        return {
          kind: 'return',
          value: statement.value === undefined ? undefined : this.#value(statement.value),
        };
      case 'if':
        return {
          kind: 'if',
          condition: this.#value(statement.condition),
          taken: this.block(statement.then, place),
          otherwise: this.block(statement.otherwise, place),
        };
      case 'while':
        return {
          kind: 'while',
          condition: this.#value(statement.condition),
          body: this.block(statement.body, { ...place, isInLoop: true }),
        };
      case 'forEach':
        this.names.add(statement.variable);
        return {
          kind: 'forEach',
          variable: statement.variable,
          list: this.#value(statement.list),
          body: this.block(statement.body, { ...place, isInLoop: true }),
        };
      default:
        return this.#simpleStep(statement, place);
    }
  }

  #simpleStep(statement: Statement, place: Place): Step {
    switch (statement.kind) {
      case 'break':
        if (place.isInLoop) return { kind: 'break' };
        throw this.#fault(statement.at, 'Found BREAK statement outside of a loop');
      case 'rollback':
      case 'commit':
        return { kind: statement.kind };
      case 'begin':
        return { kind: 'begin', isolation: statement.isolation ?? 'READ_COMMITTED' };
      case 'lock':
        return {
          kind: 'lock',
          what: statement.what,
          names: statement.names,
          source: { text: this.#text, at: statement.at, end: statement.end },
        };
      case 'sleep':
        return { kind: 'sleep', millis: this.#value(statement.ms) };
      case 'console':
        return {
          kind: 'console',
          level: statement.level,
          message: this.#value(statement.message),
        };
      case 'callStatement':
        return { kind: 'query', query: this.#value(statement.call) };
      case 'inspect':
        return isProfiledScript(statement)
          ? this.#profile(statement, place)
          : this.#query(statement);
      default:
        return isOperation(statement) ? this.#operation(statement) : this.#query(statement);
    }
  }

  #profile({ statement }: Inspect, place: Place): Step {
    const name = statement.kind === 'command' ? statement.name : nameOf(statement);
    return { kind: 'profile', name, body: this.block([statement], place) };
  }

  #operation(statement: Command): OperationStep {
    const text = this.#text;
    return {
      kind: 'operate',
      analyze: (context) => analyzeOperationProgram(text, statement, context),
    };
  }

  #query(statement: Statement): QueryStep {
    return { kind: 'query', query: this.#rows(statement) };
  }

  /** The value of an expression, or the rows of a statement. */
  #value(node: Expression): Part {
    const bare = withoutParentheses(node);
    if (bare.kind === 'subQuery') return this.#rows(bare.statement);
    const text = this.#text;
    return this.#keep({
      gives: isMapLiteral(bare) ? 'map' : 'value',
      analyze: (context) => analyzeValueProgram(text, node, context),
    });
  }

  #rows(statement: Statement): Part {
    const text = this.#text;
    return this.#keep({
      gives: 'rows',
      analyze: (context) => analyzeProgram(text, statement, context),
    });
  }

  #keep(part: Part): Part {
    this.parts.push(part);
    return part;
  }

  #fault(at: number, problem: string): Error {
    return syntaxError({ text: this.#text, offset: at, problem });
  }
}

/** Whether it is PROFILE of what is no plan: a statement of scripts, or an operation. */
export function isProfiledScript(statement: Statement): boolean {
  if (statement.kind !== 'inspect' || statement.mode !== 'profile') return false;
  const inner = withoutProfile(statement);
  return isScriptStatement(inner) || isOperation(inner);
}

function withoutProfile(statement: Statement): Statement {
  let inner = statement;
  while (inner.kind === 'inspect' && inner.mode === 'profile') inner = inner.statement;
  return inner;
}

function nameOf(statement: Statement): string {
  return isScriptStatement(statement) ? scriptStatementNames[statement.kind] : 'PROFILE';
}

function isMapLiteral(node: Expression): boolean {
  return node.kind === 'map' || (node.kind === 'literal' && isMap(node.value));
}

function withoutParentheses(node: Expression): Expression {
  let inner = node;
  while (inner.kind === 'paren') inner = inner.inner;
  return inner;
}
