import type { Settings } from '#config/effective-settings.ts';
import { serverLogLevel, serverMode } from '#config/server-settings.ts';
import type { BodyLimits } from '../request/request-body.ts';
import { bodyLimits } from '../request/request-body.ts';

/** Settings that every request asks for, read once and again when one changes. */
export class DoorLimits {
  forBody: BodyLimits;
  /** Details of server errors stay in the log. */
  hidesDetails: boolean;
  /** Each request has a line in the log. */
  logsRequests: boolean;

  constructor(settings: Settings) {
    this.forBody = bodyLimits(settings);
    this.hidesDetails = settings.get(serverMode) === 'production';
    this.logsRequests = settings.get(serverLogLevel) === 'debug';
    settings.onChange(() => {
      this.forBody = bodyLimits(settings);
      this.hidesDetails = settings.get(serverMode) === 'production';
      this.logsRequests = settings.get(serverLogLevel) === 'debug';
    });
  }
}
