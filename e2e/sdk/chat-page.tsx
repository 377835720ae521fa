import { useStream as useStream15 } from 'langgraph-sdk-1-15/react';
import { useStream as useStream6 } from 'langgraph-sdk-1-6/react';
import { type FormEvent, useState } from 'react';
import type { Json } from './sdk-client.js';

export interface ChatMessage {
  readonly id?: string;
  readonly type: string;
  readonly content: string | readonly { readonly type: string; readonly text?: string }[];
  readonly tool_calls?: readonly { readonly id?: string; readonly name: string }[];
}

/** The result of the hook in both versions, as far as the page uses it; their types are incompatible. */
interface Chat {
  readonly messages: readonly ChatMessage[];
  readonly values: { readonly title?: string };
  readonly isLoading: boolean;
  readonly error: unknown;
  submit(values: Json | null, options?: Json): unknown;
  stop(): unknown;
  getMessagesMetadata(
    message: ChatMessage,
  ): { readonly firstSeenState?: { readonly parent_checkpoint?: object | null } } | undefined;
}

type UseStream = (options: Json) => Chat;

export interface HookLine {
  readonly version: string;
  readonly useStream: UseStream;
}

export const HOOK_LINES: readonly HookLine[] = [
  { version: '1.6.0', useStream: useStream6 as unknown as UseStream },
  { version: '1.15.0', useStream: useStream15 as unknown as UseStream },
];

export interface ChatPageProps {
  readonly useStream: UseStream;
  readonly options: Json;
  /** The thread the page is opened on. */
  readonly threadId?: string;
  readonly onThreadId?: (threadId: string) => void;
  /** What is sent for a text; default: a human message as a string. */
  readonly toSubmit?: (
    text: string,
    messages: readonly ChatMessage[],
  ) => { readonly values: Json; readonly options: Json };
}

/** A small chat page that renders the hook. */
export function ChatPage({ useStream, options, threadId: opened, onThreadId, toSubmit = plainSubmit }: ChatPageProps) {
  const [threadId, setThreadId] = useState(opened ?? null);
  const [text, setText] = useState('');
  const learn = (id: string): void => {
    setThreadId(id);
    onThreadId?.(id);
  };
  const chat = useStream({ assistantId: 'lead_agent', ...options, threadId, onThreadId: learn });
  const send = (event: FormEvent): void => {
    event.preventDefault();
    const { values, options: submitOptions } = toSubmit(text, chat.messages);
    void chat.submit(values, submitOptions);
  };
  /** As LangChain's chat pages branch: the checkpoint before the last message of a type, once the history has it. */
  const before = (type: string): object | null | undefined => {
    const message = chat.messages.findLast((one) => one.type === type);
    return message === undefined ? undefined : chat.getMessagesMetadata(message)?.firstSeenState?.parent_checkpoint;
  };
  const branch = (type: string, values: Json | null) => ({
    type: 'button' as const,
    disabled: before(type) === undefined,
    onClick: () => void chat.submit(values, { checkpoint: before(type) }),
  });
  return (
    <main>
      <h1>{chat.values.title ?? 'Untitled'}</h1>
      <p role="status">{chat.isLoading ? 'working' : 'ready'}</p>
      {chat.error === undefined || chat.error === null ? null : <p role="alert">{(chat.error as Error).message}</p>}
      <ol>
        {chat.messages.map((message) => (
          <li key={message.id} data-id={message.id} data-type={message.type}>
            {shown(message)}
          </li>
        ))}
      </ol>
      <form onSubmit={send}>
        <textarea aria-label="message" value={text} onChange={({ target }) => setText(target.value)} />
        <button type="submit">Send</button>
        <button type="button" onClick={() => void chat.stop()}>
          Stop
        </button>
        <button {...branch('human', plainSubmit(text).values)}>Edit</button>
        <button {...branch('ai', null)}>Regenerate</button>
      </form>
    </main>
  );
}

const plainSubmit = (text: string) => ({ values: { messages: [{ type: 'human', content: text }] }, options: {} });

function shown({ content, tool_calls: calls = [] }: ChatMessage): string {
  const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
  return [text, ...calls.map(({ name }) => `[${name}]`)].filter((part) => part !== '').join(' ');
}
