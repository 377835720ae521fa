import { Content, DeadlineError, ExtensionError, type StateUpdate, omitUndefined } from '@caribou/contracts';
import { defineTool, RESERVED_TOOL_NAMES, type ToolContext, type ToolOutcome } from '@caribou/core';
import { z } from 'zod';
import { customContext, toShownState } from './custom-context.js';
import { DEFAULT_TIMEOUT_MS, isFunction, isInput, Name, TimeoutMs } from './definition-parts.js';
import { type Speaker, invalidAnswer } from './given-step.js';
import { runGuarded } from './hook-guard.js';
import { faultsOf, type OwnState } from './own-state.js';
import type { InputOf, OwnToolAnswer, ToolDefinition, ToolInput } from './public-types.js';
import { inputOf } from './tool-input.js';
import { CustomTool, type ToolOwner } from './custom-types.js';

const MAX_DESCRIPTION_CHARS = 10_000;
const MAX_KEYWORDS = 100;

const Definition = z.strictObject({
  name: Name(/^[a-z][a-z0-9_]{0,63}$/).refine((name) => !RESERVED_TOOL_NAMES.has(name), {
    error: ({ input }) => `${String(input)} is the name of a built-in tool`,
  }),
  description: z.string().min(1).max(MAX_DESCRIPTION_CHARS),
  input: isInput,
  remote: z.boolean().optional(),
  readOnly: z.boolean().optional(),
  deferred: z
    .strictObject({
      keywords: z.array(z.string().min(1).max(200)).max(MAX_KEYWORDS).optional(),
      priority: z.number().min(0).max(100).optional(),
    })
    .optional(),
  timeoutMs: TimeoutMs.optional(),
  run: isFunction,
});

/** @throws {ExtensionError} naming what is wrong with the definition */
export function defineCustomTool<Input extends ToolInput, Own>(
  definition: ToolDefinition<Input, Own>,
): CustomTool<Own> {
  const checked = Definition.safeParse(definition);
  if (!checked.success) throw new ExtensionError(`the definition of a tool is wrong: ${faultsOf(checked.error)}`);
  const { name, description, remote, readOnly, deferred } = definition;
  const { schema, parameters } = inputOf(name, definition.input);
  const traits = {
    ...omitUndefined({ remote, readOnly, deferred }),
  };
  return new CustomTool<Own>(name, (owner, own) => ({
    ...defineTool({
      name,
      description,
      input: schema,
      ...traits,
      run: (args, context) => call(definition, args as InputOf<Input>, { owner, own, context }),
    }),
    parameters,
  }));
}

interface CallParts<Own> {
  readonly owner: ToolOwner;
  readonly own: OwnState<Own>;
  readonly context: ToolContext;
}

/** Calls the tool. Its own errors are rethrown and become error results for the model. */
function call<Input extends ToolInput, Own>(
  definition: ToolDefinition<Input, Own>,
  args: InputOf<Input>,
  { owner, own, context: { run, state, toolCallId, key } }: CallParts<Own>,
): Promise<ToolOutcome> {
  const { name, timeoutMs = DEFAULT_TIMEOUT_MS } = definition;
  const speaker: Speaker = { ...owner, place: owner.kind === 'tool' ? 'run' : `the tool ${name}` };
  const createTimeoutError = () => new DeadlineError(`the tool did not answer within ${timeoutMs} ms`);
  return runGuarded({ speaker, run, timeoutMs, toFailure: (error) => error, createTimeoutError }, async (guard) => {
    const context = customContext({ speaker, run, guard, own: own.read(state) });
    const given = await definition.run(args, { ...context, state: toShownState(state), toolCallId, key });
    const answer = toAnswer(typeof given === 'string' ? { content: given } : given, speaker);
    return outcomeOf(answer, own.write(answer.own));
  });
}

const Answer = z.strictObject({
  content: Content,
  isError: z.boolean().optional(),
  artifact: z.unknown().optional(),
  end: z.boolean().optional(),
  own: z.unknown().optional(),
});

/** @throws {ExtensionError} naming the custom code, the hook or tool, and the error */
export function toAnswer(given: unknown, speaker: Speaker): OwnToolAnswer<unknown> {
  const parsed = Answer.safeParse(given);
  if (!parsed.success) throw invalidAnswer(speaker, faultsOf(parsed.error));
  const { content, isError, artifact, end, own } = parsed.data;
  return {
    content,
    ...omitUndefined({ isError, artifact, end, own }),
  };
}

/** Converts an answer into an outcome for the loop. */
export function outcomeOf({ own: _own, ...answer }: OwnToolAnswer<unknown>, update: StateUpdate): ToolOutcome {
  return Object.keys(update).length === 0 ? answer : { ...answer, update };
}
