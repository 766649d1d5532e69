/** `service.server.httpIncomingPort` as `SERVICE_SERVER_HTTP_INCOMING_PORT` (house decision 3). */
export function variableOf(key: string): string {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .replaceAll('.', '_')
    .toUpperCase();
}

/** The part of a container that says what its server runs with. */
export interface ServerContainer {
  readonly name: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

/** Settings on the command line, `-Dkey=value`; the last one counts. */
export function argumentSettings(args: readonly string[] = []): ReadonlyMap<string, string> {
  return new Map(
    args.flatMap((argument) => {
      const [, key, value] = /^-D([^=]+)=(.*)$/s.exec(argument) ?? [];
      return key === undefined ? [] : [[key, value ?? ''] as const];
    }),
  );
}

/** A setting as the container of the operator (a variable) or of a chart release (an argument) carries it. */
export function settingOf(container: ServerContainer | undefined, key: string): string | undefined {
  const variable = variableOf(key);
  return (
    argumentSettings(container?.args).get(key) ??
    container?.env?.find(({ name }) => name === variable)?.value
  );
}
