import type { Logger } from '@caribou/core';
import type { LoggerService } from '@nestjs/common';

/** Passes Nest's messages to the logger; routine ones at debug, because Nest logs every route and module. */
export const nestLogger = (logger: Logger): LoggerService => ({
  log: (message, ...rest: unknown[]) => logger.debug(fields(rest), String(message)),
  verbose: (message, ...rest: unknown[]) => logger.debug(fields(rest), String(message)),
  debug: (message, ...rest: unknown[]) => logger.debug(fields(rest), String(message)),
  warn: (message, ...rest: unknown[]) => logger.warn(fields(rest), String(message)),
  error: (message, ...rest: unknown[]) => logger.error(fields(rest), String(message)),
  fatal: (message, ...rest: unknown[]) => logger.error(fields(rest), String(message)),
});

/** Nest passes the name of the logging class as its last argument. */
function fields(rest: readonly unknown[]): { readonly event: 'nest'; readonly subject?: string } {
  const source = rest.at(-1);
  return typeof source === 'string' ? { event: 'nest', subject: source } : { event: 'nest' };
}
