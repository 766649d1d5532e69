import { runGoldenFile } from './datadriven.ts';

runGoldenFile(new URL('./datadriven.txt', import.meta.url), (golden) => {
  switch (golden.command) {
    case 'echo':
      return golden.input;
    case 'options':
      return [...golden.options].map(([key, value]) => `${key} -> ${value}`).join('\n');
    case 'fail':
      throw new TypeError(golden.input);
    default:
      throw new Error(`unknown command '${golden.command}'`);
  }
});
