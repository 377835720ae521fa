import type { Logger } from '@caribou/core';
import type { LoggerService } from '@nestjs/common';

/** Nest's own messages as lines of our logger: routine ones at debug, as Nest tells every route and module. */
export const nestLogger = (logger: Logger): LoggerService => ({
  log: (message, ...rest: unknown[]) => logger.debug(fields(rest), String(message)),
  verbose: (message, ...rest: unknown[]) => logger.debug(fields(rest), String(message)),
  debug: (message, ...rest: unknown[]) => logger.debug(fields(rest), String(message)),
  warn: (message, ...rest: unknown[]) => logger.warn(fields(rest), String(message)),
  error: (message, ...rest: unknown[]) => logger.error(fields(rest), String(message)),
  fatal: (message, ...rest: unknown[]) => logger.error(fields(rest), String(message)),
});

/** Nest names the speaking class in its last argument. */
function fields(rest: readonly unknown[]): { readonly event: 'nest'; readonly subject?: string } {
  const speaker = rest.at(-1);
  return typeof speaker === 'string' ? { event: 'nest', subject: speaker } : { event: 'nest' };
}
