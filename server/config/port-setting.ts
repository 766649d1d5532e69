import { defineSetting, invalidSetting, type SettingSpec } from './setting.ts';

/** First and last port to try; 0 lets the system choose. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}
export function portSetting(
  name: string,
  given: { default: number; description: string },
): SettingSpec<PortRange> {
  return defineSetting<PortRange>(name, {
    default: { first: given.default, last: given.default },
    description: given.description,
    reload: 'restart',
    fatal: true,
    parse: (text) => {
      const match = /^\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?$/.exec(text);
      const first = Number(match?.[1]);
      const last = Number(match?.[2] ?? match?.[1]);
      if (match && last <= 65_535 && first <= last) return { first, last };
      throw invalidSetting(name, text, 'a port or a range of ports');
    },
    format: ({ first, last }) => (first === last ? `${first}` : `${first}-${last}`),
  });
}
