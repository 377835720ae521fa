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

/**
 * A stored cron. One that an agent has stopped is disabled, as if its user had done it.
 *
 * @throws {InvalidRequestError} for a specification that this version cannot read
 */
export function readCron(stored: StoredCron): ReadCron {
  const spec = parse(CronSpec, JSON.parse(stored.spec), 'cron');
  return { stored, spec: { ...spec, enabled: spec.enabled && stored.stoppedBy === null } };
}

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
  const end = spec.task === null ? 'end_time' : 'end_at';
  if (spec.end_time !== null && toMs(spec.end_time) <= nowMs) throw fault(end, 'is past');
  if (spec.times.type === 'once' && toMs(spec.times.at) <= nowMs) throw fault('schedule_spec.run_at', 'is past');
  if (spec.times.type === 'interval') {
    if (spec.times.every_seconds < minIntervalSeconds)
      throw fault('schedule_spec.every_seconds', `must be at least ${minIntervalSeconds} (crons.min_interval_seconds)`);
  } else assertSparse(timetable, nowMs, minIntervalSeconds * 1_000);
  const due = timetable.next(nowMs);
  if (due === null)
    throw spec.end_time === null ? fault('schedule', 'is never due') : fault(end, 'is before the first due time');
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
