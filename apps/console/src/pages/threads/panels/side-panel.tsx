import { talk } from '../../../text/talk.js';
import { useConversation } from '../conversation-context.js';

/** The right side of a conversation. */
export function SidePanel() {
  const { values } = useConversation();
  return (
    <section aria-label={talk.plan}>
      <h2>{talk.plan}</h2>
      {values.todos.length === 0 ? <p>{talk.noPlan}</p> : null}
      <ul>
        {values.todos.map(({ content, status }, index) => (
          <li key={`${index} ${content}`}>
            {content} <em>{talk.todoStatus[status]}</em>
          </li>
        ))}
      </ul>
    </section>
  );
}
