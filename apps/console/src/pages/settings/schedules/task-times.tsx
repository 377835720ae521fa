import { scheduleTexts as texts } from '../../../text/settings-schedules.js';
import { Field } from '../parts/field.js';
import styles from '../parts/parts.module.css';
import type { Rhythm, TaskDraft, TaskFault } from './task-draft.js';

const RHYTHMS: readonly Rhythm[] = ['daily', 'weekly', 'interval', 'once', 'cron'];

interface TaskTimesProps {
  readonly draft: TaskDraft;
  readonly onChange: (draft: TaskDraft) => void;
  readonly faultOf: (name: TaskFault) => string | undefined;
}

/** When a task is due: a rhythm, and what that needs. */
export const TaskTimes = ({ draft, onChange, faultOf }: TaskTimesProps) => (
  <div className={styles['columns']}>
    <Field label={texts.rhythm}>
      <select
        value={draft.rhythm}
        onChange={({ currentTarget }) =>
          onChange({ ...draft, rhythm: RHYTHMS.find((one) => one === currentTarget.value) ?? draft.rhythm })
        }
      >
        {RHYTHMS.map((rhythm) => (
          <option key={rhythm} value={rhythm}>
            {texts.rhythms[rhythm]}
          </option>
        ))}
      </select>
    </Field>
    {draft.rhythm === 'weekly' ? (
      <Field label={texts.weekday}>
        <select
          value={draft.weekday}
          onChange={({ currentTarget }) => onChange({ ...draft, weekday: currentTarget.value })}
        >
          {texts.weekdays.map((day, index) => (
            <option key={day} value={index}>
              {day}
            </option>
          ))}
        </select>
      </Field>
    ) : null}
    <TimeOf draft={draft} onChange={onChange} faultOf={faultOf} />
    <Field label={texts.timezone} hint={texts.timezoneHint}>
      <input
        required
        maxLength={100}
        value={draft.timezone}
        onChange={({ currentTarget }) => onChange({ ...draft, timezone: currentTarget.value })}
      />
    </Field>
  </div>
);

function TimeOf({ draft, onChange, faultOf }: TaskTimesProps) {
  switch (draft.rhythm) {
    case 'daily':
    case 'weekly':
      return (
        <Field label={texts.time} fault={faultOf('time')}>
          <input
            type="time"
            value={draft.time}
            onChange={({ currentTarget }) => onChange({ ...draft, time: currentTarget.value })}
          />
        </Field>
      );
    case 'interval':
      return (
        <Field label={texts.minutes} fault={faultOf('minutes')}>
          <input
            inputMode="numeric"
            value={draft.minutes}
            onChange={({ currentTarget }) => onChange({ ...draft, minutes: currentTarget.value })}
          />
        </Field>
      );
    case 'once':
      return (
        <Field label={texts.at} fault={faultOf('at')}>
          <input
            type="datetime-local"
            value={draft.at}
            onChange={({ currentTarget }) => onChange({ ...draft, at: currentTarget.value })}
          />
        </Field>
      );
    case 'cron':
      return (
        <Field label={texts.cron} hint={texts.cronHint} fault={faultOf('cron')}>
          <input
            value={draft.cron}
            onChange={({ currentTarget }) => onChange({ ...draft, cron: currentTarget.value })}
          />
        </Field>
      );
  }
}
