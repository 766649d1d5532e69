import type { Settings } from '#config/effective-settings.ts';
import { serverMode } from '#config/server-settings.ts';
import type { BodyLimits } from './request-body.ts';
import { bodyLimits } from './request-body.ts';

/** Settings that every request asks for, read once and again when one changes. */
export class DoorLimits {
  forBody: BodyLimits;
  /** Details of server errors stay in the log. */
  hidesDetails: boolean;

  constructor(settings: Settings) {
    this.forBody = bodyLimits(settings);
    this.hidesDetails = settings.get(serverMode) === 'production';
    settings.onChange(() => {
      this.forBody = bodyLimits(settings);
      this.hidesDetails = settings.get(serverMode) === 'production';
    });
  }
}
