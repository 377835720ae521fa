import { useState } from 'react';
import { Button } from '../../../components/button.js';
import { Confirm } from '../../../components/dialog.js';
import { Failure, Notice } from '../../../components/notice.js';
import { Page } from '../../../components/page.js';
import { settings } from '../../../text/settings.js';
import { scheduleTexts as texts } from '../../../text/settings-schedules.js';
import { Loaded } from '../parts/loaded.js';
import styles from '../parts/parts.module.css';
import { plainText } from '../parts/plain-text.js';
import { useAction } from '../../../components/use-action.js';
import { pauseTask, removeTask, resumeTask, type Task, TASKS, triggerTask, useTasks } from './api.js';
import { TaskForm } from './task-form.js';
import { TaskItem, type TaskStep } from './task-item.js';

export function SchedulesPage() {
  const [isCreating, setCreating] = useState(false);
  const [leaving, setLeaving] = useState<Task>();
  const [isTriggered, setTriggered] = useState(false);
  const remove = useAction((task_id: string) => removeTask({ params: { task_id } }), [TASKS]);
  const act = useAction(
    async ({ step, id }: { readonly step: TaskStep; readonly id: string }) => {
      setTriggered(false);
      await STEPS[step]({ params: { task_id: id } });
      setTriggered(step === 'trigger');
    },
    [TASKS],
  );
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        <Button look="primary" onClick={() => setCreating(true)}>
          {texts.create}
        </Button>
      }
    >
      {act.error === null ? null : <Failure error={act.error} />}
      {isTriggered ? <Notice>{texts.triggered}</Notice> : null}
      <Loaded query={useTasks()}>
        {(tasks) => (
          <ul className={styles['list']} aria-label={texts.list}>
            {tasks.length > 0 ? null : <li className={styles['about']}>{texts.empty}</li>}
            {tasks.map((task) => (
              <TaskItem
                key={task.id}
                task={task}
                isBusy={act.isBusy}
                onStep={(step) => act.start({ step, id: task.id })}
                onDelete={() => setLeaving(task)}
              />
            ))}
          </ul>
        )}
      </Loaded>
      {isCreating ? <TaskForm onClose={() => setCreating(false)} /> : null}
      <Confirm
        title={texts.deleteTitle(plainText(leaving?.title ?? '', 200))}
        action={settings.delete}
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        onConfirm={() => (leaving === undefined ? Promise.resolve() : remove.run(leaving.id))}
      >
        {texts.deleteAbout}
      </Confirm>
    </Page>
  );
}

const STEPS: Readonly<Record<TaskStep, (input: { params: { task_id: string } }) => Promise<unknown>>> = {
  pause: pauseTask,
  resume: resumeTask,
  trigger: triggerTask,
};
