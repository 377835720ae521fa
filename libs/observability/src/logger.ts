import { type ExactLogFields, type LogFields, logFields } from '@caribou/contracts';
import { pino } from 'pino';
import { describeError } from './describe-error.js';
import { bufferStdout } from './buffered-lines.js';
import { isClean, redact } from './redact.js';

/** The same interface as core's Logger, repeated because this library may not import core; a test compares the two. */
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
  /** Receives lines with their line breaks; default: stdout, buffered for up to 50 ms or until a warning or error. */
  readonly destination?: { write(line: string): void };
}

const allowed: ReadonlySet<string> = new Set(logFields);

/** Creates a logger of JSON lines with `time` (ISO 8601), `level`, `service`, `msg` and fields of the closed list. */
export function createLogger(options: LoggerOptions): ServiceLogger {
  const settings: pino.LoggerOptions = {
    base: { service: options.service },
    level: options.level,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: pickAllowedFields, bindings: (fields) => fields },
  };
  if (options.destination !== undefined) return wrap(pino(settings, options.destination), () => undefined);
  const stdout = bufferStdout();
  return wrap(pino(settings, stdout), stdout.flush);
}

/** @param flush called after warnings and errors, so that they are not lost when the process ends */
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
    child: (fields: LogFields) => wrap(logger.child(pickAllowedFields(fields)), flush),
  };
}

/** Picks the fields of the closed list and redacts secrets; lists the names of other fields in `dropped`. */
function pickAllowedFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (isLoggable(fields)) return fields;
  const line: Record<string, unknown> = {};
  const dropped: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (!allowed.has(name)) dropped.push(name);
    else if (value !== undefined) line[name] = name === 'error' ? describeError(value) : redact(value);
  }
  if (dropped.length > 0) line['dropped'] = dropped;
  return line;
}

/** Whether all fields are of the closed list and have nothing to redact, as in nearly all lines, which then need no copy. */
function isLoggable(fields: Readonly<Record<string, unknown>>): boolean {
  for (const name of Object.keys(fields)) {
    if (!allowed.has(name) || name === 'error' || !isClean(fields[name])) return false;
  }
  return true;
}
