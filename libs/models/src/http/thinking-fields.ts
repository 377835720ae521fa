import type { ModelConfig } from '@caribou/config';
import { InvalidRequestError, isRecord } from '@caribou/contracts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Fields that switch thinking on or off for a call; none for models without such a switch.
 *
 * @throws {InvalidRequestError} when thinking is requested of a model that has the switch but does not support it
 */
export function thinkingFields(model: ModelConfig, enabled: boolean): Fields {
  const block = model.whenThinkingEnabled;
  if (!enabled && model.whenThinkingDisabled !== undefined) return flattenExtras(model.whenThinkingDisabled);
  if (block === undefined) return {};
  if (!enabled) return disableThinking(block, model.model);
  if (model.supportsThinking) return flattenExtras(block);
  throw new InvalidRequestError(
    `model "${model.name}" does not support thinking: set supports_thinking in its configuration`,
  );
}

/** Moves the contents of `extra_body` and `model_kwargs` to the top of the body, as LangChain's client class does. */
export function flattenExtras({ extra_body: extra, model_kwargs: further, ...fields }: Fields): Fields {
  return { ...fields, ...(isRecord(further) ? further : {}), ...(isRecord(extra) ? extra : {}) };
}

/** Returns the fields that switch thinking off, in the same form in which the block switches it on. */
function disableThinking(block: Fields, model: string): Fields {
  const extra = isRecord(block['extra_body']) ? block['extra_body'] : {};
  const off = { thinking: { type: 'disabled' } };
  if (isRecord(extra['thinking']) && 'type' in extra['thinking']) return { ...off, reasoning_effort: 'minimal' };
  if (isRecord(block['thinking']) && 'type' in block['thinking']) return off;
  if (typeof extra['enable_thinking'] === 'boolean') return { enable_thinking: false };
  if (isRecord(extra['reasoning']) || isRecord(block['reasoning'])) return { reasoning: { effort: 'none' } };
  if (isRecord(extra['extra_body'])) return disableGemini(extra['extra_body'], model);
  return isRecord(extra['chat_template_kwargs']) ? disableTemplate(extra['chat_template_kwargs']) : {};
}

function disableTemplate(template: Fields): Fields {
  const switches = Object.entries(template).map(([name, value]) => [
    name,
    /^(enable_)?thinking$/.test(name) ? false : value,
  ]);
  return { chat_template_kwargs: Object.fromEntries(switches) as Fields };
}

/**
 * "Gemini thinking", ai.google.dev, November 2026: only 2.5 Flash and Flash-Lite can be kept from thinking, by a budget of 0; the
 * thoughts of others are hidden.
 */
function disableGemini(body: Fields, model: string): Fields {
  if (!isRecord(body['google']) || !isRecord(body['google']['thinking_config'])) return {};
  const budget = /gemini-2\.5-flash/.test(model) ? { thinking_budget: 0 } : {};
  return {
    extra_body: { ...body, google: { ...body['google'], thinking_config: { include_thoughts: false, ...budget } } },
  };
}
