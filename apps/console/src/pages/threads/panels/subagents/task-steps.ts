import type { DelegatedTaskDetailReply } from '@caribou/contracts';

type TaskMessage = DelegatedTaskDetailReply['messages'][number];

/** A step of a subagent as it is shown. */
export interface Step {
  readonly by: 'human' | 'ai' | 'tool' | 'system';
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly args: string }[];
}

/** What a message of a subagent says and which tools it calls. */
export const stepOf = (message: TaskMessage): Step => ({
  by: message.type,
  text: textOf(message.content),
  calls:
    message.type === 'ai'
      ? (message.tool_calls ?? []).map(({ name, args }) => ({ name, args: JSON.stringify(args) }))
      : [],
});

/** The text of a message's content; parts that are no text are left out. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) =>
      typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string' ? part.text : '',
    )
    .join('');
}
