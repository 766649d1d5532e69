import type { ServerControl } from '#control/server-control.ts';
import type { Log } from '#core/log.ts';

/** The last line of the log says that the stop was complete. */
export function endNow(log: Log): never {
  log.info('Server stopped', { uptimeSeconds: Math.floor(process.uptime()) });
  process.exit(0);
}

export function stopOnSignals(control: ServerControl): void {
  let interrupts = 0;
  process.removeAllListeners('SIGTERM');
  process.on('SIGTERM', () => void control.stop('signal SIGTERM'));
  process.on('SIGINT', () => {
    interrupts += 1;
    // Whoever presses Ctrl-C twice does not want to wait for running requests.
    if (interrupts > 1) process.exit(130);
    void control.stop('signal SIGINT');
  });
}
