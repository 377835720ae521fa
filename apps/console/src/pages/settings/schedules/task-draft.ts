import type { NewTask, Task } from './api.js';

export type Rhythm = 'daily' | 'weekly' | 'interval' | 'once' | 'cron';

/** A task as it is entered; all values are texts of the form. */
export interface TaskDraft {
  readonly title: string;
  readonly prompt: string;
  readonly rhythm: Rhythm;
  /** `HH:MM`, of `daily` and `weekly`. */
  readonly time: string;
  /** 0: Sunday, as in a cron. */
  readonly weekday: string;
  /** Of `interval`. */
  readonly minutes: string;
  /** `YYYY-MM-DDTHH:MM` in the time zone, of `once`. */
  readonly at: string;
  readonly cron: string;
  readonly timezone: string;
  /** Empty: the lead agent. */
  readonly assistant: string;
  /** Empty: no limit. */
  readonly maxRuns: string;
}

export const emptyTask = (timezone: string): TaskDraft => ({
  title: '',
  prompt: '',
  rhythm: 'daily',
  time: '09:00',
  weekday: '1',
  minutes: '60',
  at: '',
  cron: '0 9 * * 1-5',
  timezone,
  assistant: '',
  maxRuns: '',
});

export type TaskFault = 'time' | 'minutes' | 'at' | 'cron' | 'maxRuns';

/** What is wrong with the values that the form shows for the rhythm; the server checks the rest. */
export function taskFaults(draft: TaskDraft): readonly TaskFault[] {
  const { rhythm, time, minutes, at, cron, maxRuns } = draft;
  const faults: (TaskFault | false)[] = [
    (rhythm === 'daily' || rhythm === 'weekly') && !/^([01]\d|2[0-3]):[0-5]\d$/.test(time) && 'time',
    rhythm === 'interval' && !isWhole(minutes, 1, 43_200) && 'minutes',
    rhythm === 'once' && Number.isNaN(Date.parse(at)) && 'at',
    rhythm === 'cron' && cron.trim().split(/\s+/).length !== 5 && 'cron',
    maxRuns.trim() !== '' && !isWhole(maxRuns, 1, 1_000_000) && 'maxRuns',
  ];
  return faults.filter((fault) => fault !== false);
}

function isWhole(text: string, min: number, max: number): boolean {
  if (!/^\s*\d+\s*$/.test(text)) return false;
  const value = Number(text);
  return value >= min && value <= max;
}

/** A draft without faults as the server takes it. */
export function toTask(draft: TaskDraft): NewTask {
  const { title, prompt, timezone, assistant, maxRuns } = draft;
  return {
    title,
    prompt,
    timezone,
    ...scheduleOf(draft),
    ...(assistant === '' ? {} : { assistant_id: assistant }),
    ...(maxRuns.trim() === '' ? {} : { max_runs: Number(maxRuns) }),
  };
}

function scheduleOf(draft: TaskDraft): Pick<NewTask, 'schedule_type' | 'schedule_spec'> {
  const [hour = 0, minute = 0] = draft.time.split(':').map(Number);
  switch (draft.rhythm) {
    case 'daily':
      return { schedule_type: 'cron', schedule_spec: { cron: `${minute} ${hour} * * *` } };
    case 'weekly':
      return { schedule_type: 'cron', schedule_spec: { cron: `${minute} ${hour} * * ${draft.weekday}` } };
    case 'cron':
      return { schedule_type: 'cron', schedule_spec: { cron: draft.cron.trim() } };
    case 'interval':
      return { schedule_type: 'interval', schedule_spec: { every_seconds: Number(draft.minutes) * 60 } };
    case 'once':
      // Without an offset it is a time of the time zone of the task.
      return { schedule_type: 'once', schedule_spec: { run_at: withSeconds(draft.at) } };
  }
}

const withSeconds = (time: string): string => (/T\d\d:\d\d$/.test(time) ? `${time}:00` : time);

/** When a task is due, in short: a cron, a number of seconds, or a time. The server has stored what a client sent. */
export function describeSchedule({ schedule_spec: spec }: Pick<Task, 'schedule_spec'>): string {
  const [cron, seconds, at] = [spec['cron'], spec['every_seconds'], spec['run_at']];
  if (typeof cron === 'string') return cron;
  if (typeof seconds === 'number') return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
  return typeof at === 'string' ? at : '';
}
