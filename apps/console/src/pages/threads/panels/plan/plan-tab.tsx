import { Badge, type Tone } from '../../../../components/badge.js';
import { panels } from '../../../../text/panels.js';
import { useConversation } from '../../conversation-context.js';
import { HiddenText } from '../interrupts/hidden-text.js';
import styles from '../panels.module.css';
import { Goal } from './goal.js';

const { plan: texts } = panels;

/** Steps of the plan that are shown. */
const MAX_SHOWN = 200;

const tones: Readonly<Record<keyof typeof texts.status, Tone>> = {
  pending: 'neutral',
  in_progress: 'accent',
  completed: 'good',
};

/** The agent's list of steps as it is now, and the goal of the conversation. */
export function PlanTab() {
  const {
    values: { todos },
  } = useConversation();
  const done = todos.filter(({ status }) => status === 'completed').length;
  return (
    <div className={styles['stack']}>
      <h2>{panels.tabs.plan}</h2>
      {todos.length === 0 ? (
        <p className={styles['quiet']}>{texts.none}</p>
      ) : (
        <>
          <p role="status">{texts.progress(done, todos.length)}</p>
          <ol className={styles['list']}>
            {todos.slice(0, MAX_SHOWN).map(({ content, status }, index) => (
              <li key={index} className={styles['item']} aria-current={status === 'in_progress' ? 'step' : undefined}>
                <span className={styles['spread']}>
                  <span className={status === 'completed' ? styles['done'] : undefined}>
                    <HiddenText text={content} />
                  </span>
                  <Badge tone={tones[status]}>{texts.status[status]}</Badge>
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
      <Goal />
    </div>
  );
}
