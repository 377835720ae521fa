import type { ExactLogFields, LogFields } from '@caribou/contracts';

/** The logger that libs receive: one line per finished operation, ids bound by `child`. */
export interface Logger {
  debug<F extends LogFields>(fields: ExactLogFields<F>, message: string): void;
  info<F extends LogFields>(fields: ExactLogFields<F>, message: string): void;
  warn<F extends LogFields>(fields: ExactLogFields<F>, message: string): void;
  error<F extends LogFields>(fields: ExactLogFields<F>, message: string): void;
  child<F extends LogFields>(fields: ExactLogFields<F>): Logger;
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
