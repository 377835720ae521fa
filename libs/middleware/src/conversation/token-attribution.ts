import {
  type AiMessage,
  ChannelValues,
  type InvalidToolCall,
  textOf,
  type Todo,
  type ToolCall,
} from '@caribou/contracts';

/** One thing that the tokens of an answer were for; `kind` and fields as DeerFlow's web client reads them. */
export type TokenAction = Readonly<Record<string, string>> & { readonly kind: string };

/** What the tokens of an answer were for. */
export interface TokenAttribution {
  readonly version: 1;
  readonly kind: 'final_answer' | 'thinking' | 'todo_update' | 'subagent_dispatch' | 'tool_batch';
  /** The tokens are for more than one action. */
  readonly shared_attribution: boolean;
  readonly tool_call_ids: readonly string[];
  readonly actions: readonly TokenAction[];
}

/** Maximum actions per answer. */
const MAX_ACTIONS = 50;
/** Maximum text per action in UTF-16 code units, as it is stored with every message. */
const MAX_TEXT = 200;

const todoKinds: ReadonlySet<string> = new Set(['todo_start', 'todo_complete', 'todo_update', 'todo_remove']);
const searches: ReadonlySet<string> = new Set(['web_search', 'image_search']);

/**
 * What an answer's tokens were for, derived from its calls and, for a call that writes the to-do list, from the
 * previous list. A call with invalid arguments counts as a call, since the loop continues after it.
 */
export function attributionOf(message: AiMessage, todos: readonly Todo[]): TokenAttribution {
  const calls = [...message.tool_calls, ...message.invalid_tool_calls];
  let list = todos;
  const actions = calls.flatMap((call) => {
    const before = list;
    if (isTodoCall(call)) list = todosOf(call);
    return actionsOf(call, before);
  });
  return {
    version: 1,
    kind: kindOf(message, actions),
    shared_attribution: actions.length > 1,
    tool_call_ids: calls.map(({ id }) => id).slice(0, MAX_ACTIONS),
    actions: actions.slice(0, MAX_ACTIONS),
  };
}

function kindOf(message: AiMessage, [first, second]: readonly TokenAction[]): TokenAttribution['kind'] {
  if (first === undefined) return hasContent(message) ? 'final_answer' : 'thinking';
  if (second !== undefined) return 'tool_batch';
  if (todoKinds.has(first.kind)) return 'todo_update';
  return first.kind === 'subagent' ? 'subagent_dispatch' : 'tool_batch';
}

/** Whether the message has text or a non-text block. */
const hasContent = ({ content }: AiMessage): boolean =>
  textOf(content).trim() !== '' ||
  (typeof content !== 'string' && content.some((block) => typeof block !== 'string' && block.type !== 'text'));

function actionsOf(call: ToolCall | InvalidToolCall, todos: readonly Todo[]): readonly TokenAction[] {
  const of = { tool_call_id: call.id };
  const { name } = call;
  if (isTodoCall(call)) {
    const changes = todoChanges(todos, todosOf(call)).map((change) => ({ ...change, ...of }));
    return changes.length > 0 ? changes : [{ kind: 'tool', tool_name: name, ...of }];
  }
  if (name === 'task') {
    return [{ kind: 'subagent', ...textArgs(call, 'description', 'subagent_type'), ...of }];
  }
  if (searches.has(name)) return [{ kind: 'search', tool_name: name, ...textArgs(call, 'query'), ...of }];
  if (name === 'present_files') return [{ kind: 'present_files', ...of }];
  if (name === 'ask_clarification') return [{ kind: 'clarification', ...of }];
  return [{ kind: 'tool', tool_name: name, ...textArgs(call, 'description'), ...of }];
}

/** The given arguments that are non-empty text. */
function textArgs({ args }: ToolCall | InvalidToolCall, ...names: readonly string[]): Record<string, string> {
  if (typeof args === 'string') return {};
  const given = names.map((name) => [name, args[name]] as const);
  const texts = given.filter((entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '');
  return Object.fromEntries(texts.map(([name, text]) => [name, cut(text)]));
}

const cut = (text: string): string => text.trim().slice(0, MAX_TEXT);

const isTodoCall = (call: ToolCall | InvalidToolCall): call is ToolCall =>
  call.name === 'write_todos' && call.type === 'tool_call';

const todosOf = ({ args }: ToolCall): readonly Todo[] => ChannelValues.shape.todos.safeParse(args['todos']).data ?? [];

/**
 * The differences between a to-do list and the previous one. Entries are matched by text; an entry with a new text
 * replaces the one at its position, if that one is gone.
 */
function todoChanges(before: readonly Todo[], after: readonly Todo[]): readonly { kind: string; content: string }[] {
  const left = new Set(before);
  const texts = new Set(after.map(({ content }) => content));
  const changes = after.flatMap((todo, index) => {
    const same = [...left].find(({ content }) => content === todo.content);
    const replaced = before[index];
    const old = same ?? (replaced !== undefined && !texts.has(replaced.content) ? replaced : undefined);
    if (old !== undefined) left.delete(old);
    if (same?.status === todo.status) return [];
    return [
      {
        kind: same === undefined && old !== undefined ? 'todo_update' : changeKinds[todo.status],
        content: cut(todo.content),
      },
    ];
  });
  const removed = [...left].map(({ content }) => ({ kind: 'todo_remove', content: cut(content) }));
  return [...changes, ...removed];
}

const changeKinds: Readonly<Record<Todo['status'], string>> = {
  completed: 'todo_complete',
  in_progress: 'todo_start',
  pending: 'todo_update',
};
