import type { Todo } from '@caribou/contracts';
import { escapeMarkup } from '@caribou/core';

/** Section of the system prompt: when to use a to-do list and how to maintain it. */
export const TODO_PROMPT = [
  'With `write_todos` you keep a list of the steps of a task, which the person sees while you work.',
  '- Keep one for complex work only: three steps or more, several things asked for at once, or when the person wants a plan. ' +
    'For small tasks, questions and conversation, just act or answer.',
  '- Set a step to `in_progress` before you begin it, and to `completed` at once when it is done; never report several steps together.',
  '- Exactly one step is `in_progress`, unless you really work on several in parallel.',
  '- Revise the list when you learn something: add steps that turned up, change or take out those that no longer apply.',
  '- Never complete a step that is done in part, that failed, or whose tests fail: it stays `in_progress`, and what stands in its way becomes a step.',
  '- Each call replaces the whole list, so call it at most once in one answer. Finish or revise all steps before your final answer.',
].join('\n');

export const TOOL_DESCRIPTION =
  'Write the list of steps for the task at hand; it replaces the list there was, so give all steps. For work of three steps ' +
  'or more, not for small tasks or conversation. Set a step to in_progress before you begin it and to completed as soon as it ' +
  'is wholly done (not when it failed or its tests do), one in_progress at a time unless you work in parallel, and revise the ' +
  'list when things change. Call it once in one answer.';

export const SEVERAL_CALLS =
  'Error: write_todos was called more than once in one answer. Each call replaces the whole list, so none was carried out. ' +
  'Call it once, with all steps.';

/** Maximum steps in a reminder. */
const MAX_SHOWN = 100;
const MAX_CONTENT_CHARS = 500;

/** Reminder for a model whose to-do list is no longer in its context. */
export const formatLostList = (todos: readonly Todo[]): string =>
  reminder(
    'The messages in which you wrote your to-do list have left your view. The list still stands:',
    todos,
    'Go on with it, and keep it up to date with write_todos.',
  );

/** Reminder for a model that answered although steps are open. */
export const formatOpenSteps = (open: readonly Todo[]): string =>
  reminder(
    'You answered, but these steps of your to-do list are open:',
    open,
    'Carry them out, or call write_todos to complete what is done and take out what no longer applies; then give your final ' +
      'answer. When you cannot go on without the person, say what you need.',
  );

const reminder = (head: string, todos: readonly Todo[], tail: string): string =>
  ['<system_reminder>', head, '', ...linesOf(todos), '', tail, '</system_reminder>'].join('\n');

function linesOf(todos: readonly Todo[]): readonly string[] {
  const lines = todos.slice(0, MAX_SHOWN).map(({ content, status }) => `- [${status}] ${oneLine(content)}`);
  return todos.length > MAX_SHOWN ? [...lines, `(and ${todos.length - MAX_SHOWN} more)`] : lines;
}

/** Clients write the list too: a step can neither end its line nor open or close a tag. */
const oneLine = (content: string): string =>
  escapeMarkup(Array.from(content.replace(/\s+/g, ' ').trim()).slice(0, MAX_CONTENT_CHARS).join(''));
