import { useState } from 'react';
import { Button } from '../../../components/button.js';
import { Dialog } from '../../../components/dialog.js';
import { Failure } from '../../../components/notice.js';
import { scheduleTexts as texts } from '../../../text/settings-schedules.js';
import { shared } from '../../../text/shared.js';
import { useAgents } from '../agents/api.js';
import { Field } from '../parts/field.js';
import styles from '../parts/parts.module.css';
import { Unsaved } from '../parts/unsaved.js';
import { useAction } from '../../../components/use-action.js';
import { createTask, TASKS } from './api.js';
import { TaskTimes } from './task-times.js';
import { emptyTask, taskFaults, type TaskFault, toTask } from './task-draft.js';

export function TaskForm({ onClose }: { readonly onClose: () => void }) {
  const [draft, setDraft] = useState(() => emptyTask(new Intl.DateTimeFormat().resolvedOptions().timeZone));
  const agents = useAgents().data?.agents ?? [];
  const faults = taskFaults(draft);
  const faultOf = (name: TaskFault): string | undefined => (faults.includes(name) ? texts.faults[name] : undefined);
  const create = useAction(async () => {
    await createTask({ body: toTask(draft) });
    onClose();
  }, [TASKS]);
  return (
    <Dialog title={texts.create} isOpen onClose={onClose}>
      <Unsaved isDirty={(draft.title !== '' || draft.prompt !== '') && !create.isDone} />
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          if (faults.length === 0) create.start();
        }}
      >
        <Field label={texts.name}>
          <input
            required
            maxLength={200}
            value={draft.title}
            onChange={({ currentTarget }) => setDraft({ ...draft, title: currentTarget.value })}
          />
        </Field>
        <Field label={texts.prompt}>
          <textarea
            required
            maxLength={20_000}
            value={draft.prompt}
            onChange={({ currentTarget }) => setDraft({ ...draft, prompt: currentTarget.value })}
          />
        </Field>
        <TaskTimes draft={draft} onChange={setDraft} faultOf={faultOf} />
        <Field label={texts.assistant}>
          <select
            value={draft.assistant}
            onChange={({ currentTarget }) => setDraft({ ...draft, assistant: currentTarget.value })}
          >
            <option value="">{texts.leadAgent}</option>
            {agents.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </Field>
        <Field label={texts.maxRuns} hint={texts.maxRunsHint} fault={faultOf('maxRuns')}>
          <input
            inputMode="numeric"
            value={draft.maxRuns}
            onChange={({ currentTarget }) => setDraft({ ...draft, maxRuns: currentTarget.value })}
          />
        </Field>
        {create.error === null ? null : <Failure error={create.error} />}
        <div className={styles['row']}>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button look="primary" type="submit" disabled={create.isBusy || faults.length > 0}>
            {texts.createAction}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
