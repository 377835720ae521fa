import { type AiMessage, ExtensionError, type Message, omitUndefined } from '@caribou/contracts';
import type { AnyTool, ModelCallNext, ModelRequest } from '@caribou/core';
import { z } from 'zod';
import { toShownState } from './custom-context.js';
import { describeSource, CompletedMessage, type Speaker, invalidAnswer } from './given-step.js';
import type { Guard } from './hook-guard.js';
import { faultsOf } from './own-state.js';
import type { CustomModelRequest } from './public-types.js';

const Changed = z.object({
  system: z.string(),
  messages: z.array(z.unknown()).max(100_000),
  tools: z.array(z.object({ name: z.string() })),
  toolChoice: z.enum(['auto', 'none']).optional(),
});

export const toShownRequest = ({
  model,
  system,
  messages,
  tools,
  toolChoice,
  state,
}: ModelRequest): CustomModelRequest => ({
  model,
  system,
  messages: [...messages],
  tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
  state: toShownState(state),
  ...omitUndefined({ toolChoice }),
});

/** The rest of the chain for custom code, with a check that it has settled. */
export interface CustomNext<Request, Result> {
  readonly next: (request?: Request) => Promise<Result>;
  /** @throws {ExtensionError} when the custom code returned before it had settled */
  assertSettled(): void;
}

export interface NextParts {
  readonly guard: Guard;
  readonly speaker: Speaker;
}

/** Calls the rest of the chain with the clock of the custom code stopped. */
export function customNext<Request, Result>(
  work: (request: Request | undefined) => Promise<Result>,
  { guard, speaker }: NextParts,
): CustomNext<Request, Result> {
  let running = 0;
  return {
    next: (request) => {
      running += 1;
      const call = guard.outside(() => work(request)).finally(() => (running -= 1));
      call.catch(() => undefined);
      return call;
    },
    assertSettled() {
      if (running === 0) return;
      throw new ExtensionError(`${describeSource(speaker)} answered in ${speaker.place} before its next() had settled`);
    },
  };
}

/** The rest of the model call. A changed request is checked first. */
export const modelNext = (request: ModelRequest, next: ModelCallNext, parts: NextParts) =>
  customNext<CustomModelRequest, AiMessage>(
    async (changed) => next(changed === undefined ? request : mergeRequest(request, changed, parts.speaker)),
    parts,
  );

function mergeRequest(request: ModelRequest, changed: CustomModelRequest, speaker: Speaker): ModelRequest {
  const parsed = Changed.safeParse(changed);
  if (!parsed.success) throw invalidAnswer(speaker, `the request: ${faultsOf(parsed.error)}`);
  const { system, messages, tools, toolChoice } = parsed.data;
  const known = new Map<unknown, Message>(request.messages.map((message) => [message, message]));
  const { toolChoice: _before, ...rest } = request;
  return {
    ...rest,
    system,
    tools: tools.map(({ name }) => toolNamed(name, request.tools, speaker)),
    messages: messages.map((message) => known.get(message) ?? toMessage(message, speaker)),
    ...omitUndefined({ toolChoice }),
  };
}

function toolNamed(name: string, tools: readonly AnyTool[], speaker: Speaker): AnyTool {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw invalidAnswer(speaker, `the request: there is no tool '${name}'`);
  return tool;
}

function toMessage(given: unknown, speaker: Speaker): Message {
  const parsed = CompletedMessage.safeParse(given);
  if (!parsed.success) throw invalidAnswer(speaker, `a message: ${faultsOf(parsed.error)}`);
  return parsed.data;
}

/** The answer of custom code: an answer of the inner chain is returned unchanged, any other is checked. */
export function toAiMessage(given: unknown, inner: readonly AiMessage[], speaker: Speaker): AiMessage {
  const same = inner.find((message) => message === given);
  if (same !== undefined) return same;
  const message = toMessage(given, speaker);
  if (message.type !== 'ai') throw invalidAnswer(speaker, `a message of type ${message.type}; it must be ai`);
  return message;
}
