import type { Message } from '@caribou/contracts';
import type { ModelDelta, ModelPort } from '@caribou/core';
import type { Faults } from './faults.js';
import type { Scheduler, SimProcess } from './scheduler.js';

/** The one kind of subagent. */
export const SUBAGENT = 'worker';

/** The tool calls of each answer of a run, from the message to the model; after the last one comes plain text. */
export interface Plan {
  readonly turns: readonly (readonly PlannedCall[])[];
}

export type PlannedCall =
  | { readonly tool: 'bash'; readonly ms: number }
  | { readonly tool: 'effect'; readonly ms: number }
  /** Delegates a plan to a subagent. */
  | { readonly tool: 'task'; readonly plan: Plan };

export interface ModelParts {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly kill: (process: SimProcess) => void;
  /** A number that no other model call of the history has. */
  readonly nextModelCall: () => number;
}

/**
 * A model that follows the newest user message; each call of each answer has a unique token. The input tokens that an
 * answer reports are the number of the model call.
 */
export function planModel(process: SimProcess, { scheduler, faults, kill, nextModelCall }: ModelParts): ModelPort {
  const { random } = scheduler;
  async function pause(signal: AbortSignal, ms: number): Promise<void> {
    if (faults.killsAt(process.role, 'model:delta')) kill(process);
    await scheduler.sleep(ms, process, 'model');
    signal.throwIfAborted();
  }
  return {
    name: 'plan',
    endpoint: { provider: 'simulator', model: 'plan' },
    dialect: 'generic',
    supportsVision: false,
    supportsThinking: false,
    async *stream({ messages }, { signal }): AsyncGenerator<ModelDelta> {
      const calls = readPlannedCalls(messages);
      await pause(signal, random.between(20, 2_000));
      yield { content: 'I ' };
      await pause(signal, random.between(1, 200));
      yield { content: calls.length > 0 ? 'look.' : 'am done.' };
      for (const [index, call] of calls.entries()) {
        const args = argsOf(call, random.uuid());
        const chunk = { name: call.tool, args: JSON.stringify(args), id: `call_${index}`, index };
        yield { toolCallChunks: [{ ...chunk, type: 'tool_call_chunk' }] };
      }
      await pause(signal, random.between(1, 50));
      const input = nextModelCall();
      const usage = { input_tokens: input, output_tokens: 1, total_tokens: input + 1 };
      yield { finishReason: calls.length > 0 ? 'tool_calls' : 'stop', usage };
    },
  };
}

function argsOf(call: PlannedCall, token: string): Readonly<Record<string, string>> {
  if (call.tool === 'effect') return { token };
  if (call.tool !== 'task') return { description: 'effect', command: `effect ${token} ${call.ms}` };
  return { description: 'a task', prompt: JSON.stringify(call.plan), subagent_type: SUBAGENT };
}

function readPlannedCalls(messages: readonly Message[]): readonly PlannedCall[] {
  const at = messages.findLastIndex(({ type, content }) => type === 'human' && textOf(content).includes('"turns"'));
  const asked = messages[at];
  if (asked === undefined) return [];
  const text = textOf(asked.content);
  const plan = JSON.parse(text.slice(text.indexOf('{"turns"'), text.lastIndexOf('}') + 1)) as Plan;
  const taken = messages.slice(at + 1).filter(({ type }) => type === 'ai').length;
  return plan.turns[taken] ?? [];
}

const textOf = (content: Message['content']): string =>
  typeof content === 'string' ? content : JSON.stringify(content);
