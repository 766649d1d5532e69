/**
 * The environment of a process of our own that works for this one: nothing but the cache of compiled code, where this one has it.
 * Stripping the types of its sources again takes 0.2 s, as long as reading 50 MB.
 */
export function helperEnvironment(): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
}
