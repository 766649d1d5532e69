import { languageError } from '#core/errors.ts';
import type { ExecutionContext, PhysicalOperator, Pulled } from '../operator.ts';

/** On top of plans that must not run without their parameters: refuses the statement with the names of all that are missing. */
export class ParameterCheckOperator implements PhysicalOperator {
  readonly name = 'Check parameters';
  readonly inputs: readonly PhysicalOperator[];
  readonly description: string;
  readonly fill: PhysicalOperator['fill'];
  readonly #input: PhysicalOperator;
  readonly #names: readonly string[];

  constructor(input: PhysicalOperator, names: readonly string[]) {
    this.inputs = [input];
    this.description = names.join(', ');
    this.fill = input.fill?.bind(input);
    this.#input = input;
    this.#names = names;
  }

  /** @throws DatabaseError `MissingParameter` */
  open(context: ExecutionContext): void {
    const { parameters } = context;
    // Each execution comes here: a loop makes nothing.
    for (let at = 0; at < this.#names.length; at += 1)
      if (!parameters.has(this.#names[at] as string)) throw this.#refusal(parameters);
    this.#input.open(context);
  }

  #refusal(parameters: ExecutionContext['parameters']): Error {
    const missing = this.#names.filter((name) => !parameters.has(name));
    return languageError(
      { type: 'ParameterMissing', phase: 'compile time', detail: 'MissingParameter' },
      `expected parameter(s): ${missing.join(', ')}`,
    );
  }

  next(): Pulled {
    return this.#input.next();
  }

  close(): void {
    this.#input.close();
  }
}
