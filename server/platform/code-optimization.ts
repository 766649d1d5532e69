import { setFlagsFromString } from 'node:v8';
import { letHeapGrow } from './heap-growth.ts';
import { takesShortcut } from './shortcuts.ts';

/**
 * Calls of a function before its best code is made; V8 waits for 3,000. A statement runs through hundreds of functions once
 * each, so commits ran at half their rate for the first 15,000 requests.
 */
const ofRequests =
  '--invocation-count-for-turbofan=1000 --max-inlined-bytecode-size-cumulative=920';
/**
 * A load runs a few loops a million times, which become hot soon enough. Made early and with all that they call, their code was
 * made two to four times over: a tenth of the processor time of an upload of a million edges. What runs some thousand times only
 * never earns what its best code costs, 5 to 10 ms each. With still less in it (200), record ids are put into memory on their way from
 * function to function.
 */
const ofLoads = '--invocation-count-for-turbofan=20000 --max-inlined-bytecode-size-cumulative=400';

let loadCount = 0;
let isForRequests = false;

/** To be called when the server has started: what runs only before that is not worth the memory. */
export function optimizeForRequests(): void {
  if (!takesShortcut('code-optimization')) return;
  isForRequests = true;
  if (loadCount === 0) setFlagsFromString(ofRequests);
}

/**
 * A large load begins; the code is left alone before `optimizeForRequests`. Its arrays and blocks count as growth of the heap: 30 MB were
 * collected 17 times during an upload of a million edges. @returns to be called once, when it is over
 */
export function optimizeForLoad(): () => void {
  if (!isForRequests) return letHeapGrow();
  loadCount += 1;
  if (loadCount === 1) setFlagsFromString(ofLoads);
  const growthIsOver = letHeapGrow();
  return () => {
    growthIsOver();
    loadCount -= 1;
    if (loadCount === 0) setFlagsFromString(ofRequests);
  };
}
