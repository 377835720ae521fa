import { useStream } from '@langchain/react';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';

/** A page as an application writes it; the address says where the server is and which thread is shown. */
const query = new URLSearchParams(location.search);

function rememberThread(threadId: string): void {
  query.set('thread', threadId);
  history.replaceState(null, '', `?${query}`);
}

function Chat() {
  const [draft, setDraft] = useState('');
  const stream = useStream({
    assistantId: 'lead_agent',
    apiUrl: query.get('api') ?? '',
    transport: query.get('transport') === 'websocket' ? 'websocket' : 'sse',
    threadId: query.get('thread'),
    onThreadId: rememberThread,
  });
  return (
    <main>
      <ol>
        {stream.messages.map((message) => (
          <li key={message.id} data-id={message.id} data-type={message.getType()}>
            {message.text}
          </li>
        ))}
      </ol>
      <ul>
        {[...stream.subagents.values()].map(({ id, name, status }) => (
          <li key={id} data-subagent={name}>
            {status}
          </li>
        ))}
      </ul>
      {stream.interrupts.map(({ id, value }) => (
        <p key={id} data-question={id}>
          {JSON.stringify(value)}
          <button type="button" onClick={() => void stream.respond('yes', { interruptId: id ?? '' })}>
            Yes
          </button>
        </p>
      ))}
      <p role="status">{stream.isLoading || stream.isThreadLoading ? 'working' : 'ready'}</p>
      {stream.error === undefined ? null : (
        <p role="alert">{stream.error instanceof Error ? stream.error.message : 'failed'}</p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setDraft('');
          void stream.submit({ messages: [{ type: 'human', content: draft }] });
        }}
      >
        <textarea aria-label="message" value={draft} onChange={(event) => setDraft(event.target.value)} />
        <button type="submit">Send</button>
        <button type="button" onClick={() => void stream.stop()}>
          Stop
        </button>
      </form>
    </main>
  );
}

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');
createRoot(root).render(
  <StrictMode>
    <Chat />
  </StrictMode>,
);
