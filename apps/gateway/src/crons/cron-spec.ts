import { CronSpec, InvalidRequestError, TooLargeError } from '@caribou/contracts';
import type { CronStore, StoredCron } from '@caribou/state';
import { parse } from '../http/parse-input.js';
import type { GatewaySettings } from '../settings.js';
import { assertSparse, type Timetable, timetableOf, toMs } from './timetable.js';

/** A cron with its specification. */
export interface ReadCron {
  readonly stored: StoredCron;
  readonly spec: CronSpec;
}

/** @throws {InvalidRequestError} for a specification that this version cannot read */
export const readCron = (stored: StoredCron): ReadCron => ({
  stored,
  spec: parse(CronSpec, JSON.parse(stored.spec), 'cron'),
});

/** The due times of a specification. @throws {InvalidRequestError} naming the field */
export const timesOf = ({ times, timezone, end_time: end }: CronSpec): Timetable =>
  timetableOf(times, { timezone, endMs: end === null ? null : toMs(end) });

/**
 * The first due time of a new or changed specification, by the clock of the store; null while it is disabled.
 *
 * @throws {InvalidRequestError} when it has no due time, when two are too close, or when its end is past
 */
export async function firstDue(
  crons: Pick<CronStore, 'now'>,
  spec: CronSpec,
  { minIntervalSeconds }: Pick<GatewaySettings['crons'], 'minIntervalSeconds'>,
): Promise<number | null> {
  const nowMs = await crons.now();
  const timetable = timesOf(spec);
  if (spec.end_time !== null && toMs(spec.end_time) <= nowMs) throw fault('end_time', 'is past');
  if (spec.times.type === 'once' && toMs(spec.times.at) <= nowMs) throw fault('schedule_spec.run_at', 'is past');
  assertSparse(timetable, nowMs, minIntervalSeconds * 1_000);
  const due = timetable.next(nowMs);
  if (due === null) throw fault('schedule', spec.end_time === null ? 'is never due' : 'is not due before end_time');
  return spec.enabled ? due : null;
}

const fault = (field: string, text: string): InvalidRequestError =>
  new InvalidRequestError(`${field}: ${text}`, { details: { field } });

/** The specification as it is stored. @throws {TooLargeError} */
export function serializeSpec(spec: CronSpec, { maxBytes }: Pick<GatewaySettings['crons'], 'maxBytes'>): string {
  const text = JSON.stringify(spec);
  if (Buffer.byteLength(text) > maxBytes)
    throw new TooLargeError(`the cron is larger than ${maxBytes} bytes (crons.max_bytes)`, {
      details: { limitBytes: maxBytes },
    });
  return text;
}
