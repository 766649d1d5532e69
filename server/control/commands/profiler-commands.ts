import { DatabaseError } from '#core/errors.ts';
import { requireOneName } from '../command-parser.ts';
import type { CommandAnswer, CommandCall, ControlCommand } from '../control-command.ts';
import { profilerSeconds } from '../profiler.ts';

/** The object of the MCP tools, and the same in `result`, which every control command answers. */
function answer(results: object): CommandAnswer {
  return { ...results, result: results };
}

function requireNothing({ argument }: CommandCall): void {
  if (argument !== '')
    throw new DatabaseError('IllegalArgument', `unexpected '${argument.slice(0, 60)}'`);
}

const start: ControlCommand = {
  phrase: 'profiler start',
  access: 'root',
  run: ({ argument, targets: { profiler } }) => {
    if (argument === '') return answer(profiler.start());
    const text = requireOneName(argument, 'number of seconds');
    const { min, max } = profilerSeconds;
    if (!/^\d{1,9}$/.test(text))
      throw new DatabaseError(
        'IllegalArgument',
        `the number of seconds is an integer from ${min} to ${max}, not '${text}'`,
      );
    return answer(profiler.start(Number(text)));
  },
};

const stop: ControlCommand = {
  phrase: 'profiler stop',
  access: 'root',
  run: async (call) => {
    requireNothing(call);
    return answer(await call.targets.profiler.stop());
  },
};

const reset: ControlCommand = {
  phrase: 'profiler reset',
  access: 'root',
  run: (call) => {
    requireNothing(call);
    return { ...call.targets.profiler.reset(), result: 'ok' };
  },
};

const results: ControlCommand = {
  phrase: 'profiler results',
  access: 'root',
  isAudited: false,
  run: (call) => {
    requireNothing(call);
    return answer(call.targets.profiler.results());
  },
};

const list: ControlCommand = {
  phrase: 'profiler list',
  access: 'root',
  isAudited: false,
  run: async (call) => {
    requireNothing(call);
    return { result: await call.targets.profiler.list() };
  },
};

const load: ControlCommand = {
  phrase: 'profiler load',
  access: 'root',
  isAudited: false,
  run: async ({ argument, targets: { profiler } }) => {
    const loaded = await profiler.load(requireOneName(argument, 'file name'));
    return answer(loaded as object);
  },
};

/** `profiler start [seconds]`, `stop`, `reset`, `results`, `list`, `load <file>` (http-api.md 12). */
export const profilerCommands: readonly ControlCommand[] = [
  start,
  stop,
  reset,
  results,
  list,
  load,
];
