import { type AiMessage, type Message, type ThreadState, type Todo } from '@caribou/contracts';
import { type AgentMiddleware, type AnyTool, defineTool, runSlot, type ToolCallRequest } from '@caribou/core';
import { z } from 'zod';
import { finishReasonOf, isVisible, lastAnswer } from '../messages/answer.js';
import { createHiddenMessage } from '../messages/hidden-message.js';
import { isStopped, meansToCall } from '../messages/strip-tool-calls.js';
import { formatLostList, formatOpenSteps, SEVERAL_CALLS, TOOL_DESCRIPTION } from './todo-texts.js';

const NAME = 'todo';
const TOOL_NAME = 'write_todos';
const REMINDER = 'todo_reminder';
const COMPLETION_REMINDER = 'todo_completion_reminder';
const MAX_COMPLETION_REMINDERS = 2;

/** Number of this run's reminders to finish the list, and whether the last one is still to be sent. */
const slot = runSlot(NAME, z.object({ reminders: z.int(), due: z.boolean() }));

/**
 * The agent's to-do list in plan mode: the tool that writes it, a reminder when the messages with the list were removed
 * from the thread, and another model call when an answer leaves steps open, at most twice per run. It follows
 * summarization in the chain, so that it notices removed messages at once. Reminders stay in the thread, so that later
 * requests begin with those that had them.
 */
export function todo(): AgentMiddleware {
  return {
    name: NAME,
    tools: [writeTodos],
    beforeModel(state, run) {
      const { todos = [], messages } = state;
      const isLost = todos.length > 0 && !messages.some(showsList);
      const sent = slot.read(state, run);
      const open = sent?.due === true ? findOpenSteps(state) : [];
      const reminders = [
        ...(isLost ? [createHiddenMessage(REMINDER, formatLostList(todos))] : []),
        ...(open.length > 0 ? [createHiddenMessage(COMPLETION_REMINDER, formatOpenSteps(open))] : []),
      ];
      if (reminders.length === 0) return Promise.resolve(undefined);
      const counters = sent === undefined ? {} : slot.write({ ...sent, due: false }, run);
      return Promise.resolve({ update: { messages: reminders, ...counters } });
    },
    afterModel(state, run) {
      const { reminders, due } = slot.read(state, run) ?? { reminders: 0, due: false };
      const message = lastAnswer(state);
      const open = findOpenSteps(state).length;
      if (message !== undefined && isFinalAnswer(message) && open > 0 && reminders < MAX_COMPLETION_REMINDERS) {
        run.recordDecision(NAME, 'reminded', { open, reminders: reminders + 1 });
        return Promise.resolve({ again: true, update: slot.write({ reminders: reminders + 1, due: true }, run) });
      }
      return Promise.resolve(due ? { update: slot.write({ reminders, due: false }, run) } : undefined);
    },
    wrapToolCall: (request, next) =>
      isOneOfSeveral(request) ? Promise.resolve({ content: SEVERAL_CALLS, isError: true }) : next(request),
  };
}

const writeTodos: AnyTool = defineTool({
  name: TOOL_NAME,
  description: TOOL_DESCRIPTION,
  input: z.object({
    todos: z
      .array(
        z.object({
          content: z.string().trim().min(1).max(1_000).describe('The step, as an instruction: "Run the tests".'),
          status: z
            .enum(['pending', 'in_progress', 'completed'])
            .describe('pending: not begun; in_progress: being worked on; completed: wholly done.'),
        }),
      )
      .max(100)
      .describe('All steps, in the order they are worked on.'),
  }),
  run: ({ todos }) => Promise.resolve({ content: `Updated todo list to ${JSON.stringify(todos)}`, update: { todos } }),
});

const findOpenSteps = ({ todos = [] }: ThreadState): readonly Todo[] =>
  todos.filter(({ status }) => status !== 'completed');

/** Whether the message shows the list to the model. */
const showsList = (message: Message): boolean =>
  message.type === 'ai' ? message.tool_calls.some(isWriteTodos) : message.type === 'human' && message.name === REMINDER;

const isWriteTodos = ({ name }: { readonly name: string }): boolean => name === TOOL_NAME;

/** Several writes in one answer would run concurrently, and the slowest would win. */
function isOneOfSeveral({ call, state }: ToolCallRequest): boolean {
  if (!isWriteTodos(call)) return false;
  const asking = state.messages.findLast(
    (message): message is AiMessage => message.type === 'ai' && message.tool_calls.some(({ id }) => id === call.id),
  );
  return (asking?.tool_calls.filter(isWriteTodos).length ?? 0) > 1;
}

/** Finish reasons of a complete answer. */
const CLEAN_ENDS: ReadonlySet<string | undefined> = new Set(['stop', 'end_turn']);

/** Whether the answer is complete: no tool call, error or stop by a guard, and neither cut nor empty. */
const isFinalAnswer = (message: AiMessage): boolean =>
  !meansToCall(message) &&
  !isStopped(message) &&
  message.additional_kwargs['deerflow_error_fallback'] !== true &&
  CLEAN_ENDS.has(finishReasonOf(message)) &&
  isVisible(message.content);
