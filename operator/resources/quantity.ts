/** Kubernetes quantities, compared by value: the API server rewrites `1024Mi` to `1Gi`. */

const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const decimal: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};

/** @returns undefined for a text that is no quantity */
export function parseQuantity(text: string | number): number | undefined {
  const match = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)([KMGTPE]i|[numkMGTPE])?$/.exec(
    String(text),
  );
  if (match === null) return undefined;
  const number = Number(match[1]);
  const suffix = match[2] ?? '';
  const power = binary.indexOf(suffix);
  if (power >= 0) return number * 1024 ** (power + 1);
  const factor = decimal[suffix];
  return factor === undefined ? undefined : number * factor;
}

/** Greater than 0 when `a` is the larger one; unreadable quantities count as equal, so that nothing is done about them. */
export function compareQuantities(a: string | number, b: string | number): number {
  return (parseQuantity(a) ?? Number.NaN) - (parseQuantity(b) ?? Number.NaN) || 0;
}
