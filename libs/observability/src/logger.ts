import { type ExactLogFields, type LogFields, logFields } from '@caribou/contracts';
import { pino } from 'pino';
import { describeError } from './describe-error.js';
import { gatheredStdout } from './gathered-lines.js';
import { redact } from './redact.js';

/** The same seam as core's Logger: core is a neighbour, so it is spelled out here and a test holds the two together. */
export interface ServiceLogger {
  debug<F extends LogFields>(fields: ExactLogFields<F>, message: string): void;
  info<F extends LogFields>(fields: ExactLogFields<F>, message: string): void;
  warn<F extends LogFields>(fields: ExactLogFields<F>, message: string): void;
  error<F extends LogFields>(fields: ExactLogFields<F>, message: string): void;
  child<F extends LogFields>(fields: ExactLogFields<F>): ServiceLogger;
}

interface LoggerOptions {
  readonly service: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Where lines go, each with its line break; stdout when absent, up to 50 ms later unless a warning or an error follows. */
  readonly destination?: { write(line: string): void };
}

const allowed: ReadonlySet<string> = new Set(logFields);

/** A logger of JSON lines: `time` (ISO 8601), `level` by name, `service`, `msg` and fields of the closed list. */
export function createLogger(options: LoggerOptions): ServiceLogger {
  const settings: pino.LoggerOptions = {
    base: { service: options.service },
    level: options.level,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: checked, bindings: (fields) => fields },
  };
  if (options.destination !== undefined) return wrap(pino(settings, options.destination), () => undefined);
  const stdout = gatheredStdout();
  return wrap(pino(settings, stdout), stdout.flush);
}

/** @param flush called after warnings and errors: what went wrong is not lost with the process */
function wrap(logger: pino.Logger, flush: () => void): ServiceLogger {
  return {
    debug: (fields: LogFields, message) => {
      logger.debug(fields, message);
    },
    info: (fields: LogFields, message) => {
      logger.info(fields, message);
    },
    warn: (fields: LogFields, message) => {
      logger.warn(fields, message);
      flush();
    },
    error: (fields: LogFields, message) => {
      logger.error(fields, message);
      flush();
    },
    child: (fields: LogFields) => wrap(logger.child(checked(fields)), flush),
  };
}

/** The fields of the closed list, without secrets; the names of others in `dropped`. */
function checked(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  const dropped: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (!allowed.has(name)) dropped.push(name);
    else if (value !== undefined) line[name] = name === 'error' ? describeError(value) : redact(value);
  }
  if (dropped.length > 0) line['dropped'] = dropped;
  return line;
}
