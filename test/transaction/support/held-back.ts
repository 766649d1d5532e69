import type { StorageEngine } from '#storage/engine.ts';

/** Holds back applies until it is told to let them go. */
export function heldBack(): { wrap: (engine: StorageEngine) => StorageEngine; hold(): () => void } {
  let gate: Promise<void> = Promise.resolve();
  return {
    wrap: (engine) =>
      new Proxy(engine, {
        get(target, name) {
          if (name === 'apply') {
            return async (...args: Parameters<StorageEngine['apply']>) => {
              await gate;
              return target.apply(...args);
            };
          }
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      }),
    hold() {
      let release: () => void = () => {};
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
}
