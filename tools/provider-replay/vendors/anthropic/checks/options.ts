import { invalid } from '../errors.js';
import { EFFORTS, type ModelProfile, type ThinkingType } from '../models.js';
import type { MessagesRequest } from '../shape.js';

export const BINDING_BETA = 'thinking-binding-controls-2026-08-01';

/** How the model thinks on this request. */
export function thinkingOf({ thinking }: MessagesRequest, profile: ModelProfile): ThinkingType {
  return thinking?.type ?? (profile.thinksByDefault ? 'adaptive' : 'disabled');
}

export const thinksOn = (type: ThinkingType): boolean => type === 'enabled' || type === 'adaptive';

/**
 * Checks thinking, effort, sampling, tools and tool_choice against the model and against each other.
 *
 * @throws Refusal in the vendor's words.
 */
export function checkOptions(request: MessagesRequest, profile: ModelProfile, betas: ReadonlySet<string>): void {
  checkThinkingType(request, profile);
  checkEffort(request, profile);
  checkSampling(request, profile);
  checkTools(request);
  checkToolChoice(request, profile);
  const { thinking } = request;
  if (thinking !== undefined && 'block_binding' in thinking && !betas.has(BINDING_BETA)) {
    throw invalid('beta header', 'block_binding: Extra inputs are not permitted');
  }
}

function checkThinkingType({ thinking, max_tokens }: MessagesRequest, profile: ModelProfile): void {
  if (thinking === undefined) return;
  const { type } = thinking;
  if (!profile.thinking.includes(type)) {
    if (type === 'adaptive') throw invalid('thinking of the model', 'adaptive thinking is not supported on this model');
    throw invalid(
      'thinking of the model',
      `"thinking.type.${type}" is not supported for this model. ` +
        'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    );
  }
  if (type === 'enabled' && thinking.budget_tokens >= max_tokens) {
    throw invalid('thinking budget', '`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
}

function checkEffort({ output_config: output, thinking }: MessagesRequest, profile: ModelProfile): void {
  const effort = output?.effort;
  if (effort === undefined || effort === null) return;
  if (profile.efforts.length === 0) throw invalid('effort', 'This model does not support the effort parameter.');
  if (!profile.efforts.includes(effort)) {
    throw invalid(
      'effort',
      `output_config.effort: '${effort}' is not supported for this model. Use ${profile.efforts.join(', ')}.`,
    );
  }
  if (thinking?.type === 'disabled' && EFFORTS.indexOf(effort) > EFFORTS.indexOf(profile.disabledUpTo)) {
    throw invalid(
      'effort without thinking',
      `"thinking.type.disabled" is not supported with effort "${effort}" on this model.`,
    );
  }
}

function checkSampling(request: MessagesRequest, profile: ModelProfile): void {
  const { temperature, top_p, top_k } = request;
  if (!profile.sampling) {
    const set = { temperature: (temperature ?? 1) !== 1, top_p: (top_p ?? 1) !== 1, top_k: top_k !== undefined };
    const first = Object.entries(set).find(([, differs]) => differs)?.[0];
    if (first !== undefined) throw invalid('sampling of the model', `\`${first}\` is deprecated for this model.`);
  }
  if (!thinksOn(thinkingOf(request, profile))) return;
  if ((temperature ?? 1) !== 1) {
    throw invalid(
      'sampling with thinking',
      '`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.',
    );
  }
  if (top_k !== undefined)
    throw invalid('sampling with thinking', '`top_k` must be unset when thinking is enabled or in adaptive mode.');
  if ((top_p ?? 1) < 0.95) {
    throw invalid(
      'sampling with thinking',
      '`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.',
    );
  }
}

function checkTools({ tools = [] }: MessagesRequest): void {
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name)) throw invalid('unique tool names', 'tools: Tool names must be unique.');
    names.add(name);
  }
}

function checkToolChoice(request: MessagesRequest, profile: ModelProfile): void {
  const { tool_choice: choice, tools = [], thinking } = request;
  if (choice === undefined) return;
  if (tools.length === 0)
    throw invalid('tool_choice needs tools', 'tool_choice: may only be specified while providing tools.');
  if (choice.type !== 'any' && choice.type !== 'tool') return;
  if (!profile.forcedTools) {
    throw invalid('forced tools of the model', 'tool_choice: type "tool" and "any" are not supported for this model.');
  }
  if (thinking?.type === 'enabled') {
    throw invalid('forced tools with thinking', 'Thinking may not be enabled when tool_choice forces tool use.');
  }
  if (choice.type === 'tool' && !tools.some(({ name }) => name === choice.name)) {
    throw invalid('known tool', `Tool '${choice.name}' not found in provided tools`);
  }
}
