import type { CollectedAnswer, CollectedCall } from '../../chat/collected-answer.js';
import { currentTurn, hasCalls, isJsonObject } from '../../chat/conversation.js';
import type { IssuedExtras } from '../../framework/issued-extras.js';
import type { Refusal } from '../../framework/refusal.js';
import { providerRefusal } from './openrouter-errors.js';
import type { OpenrouterChatRequest, ReasoningDetail } from './openrouter-request.js';

type Json = Record<string, unknown>;
type Assistant = Extract<OpenrouterChatRequest['messages'][number], { role: 'assistant' }>;

/** The families behind OpenRouter whose reasoning is sealed, each in its own way. */
export type Family = 'anthropic' | 'google' | 'openai' | 'other';

export function familyOf(model: string): Family {
  const [maker = ''] = model.split('/');
  return maker === 'anthropic' || maker === 'google' || maker === 'openai' ? maker : 'other';
}

const FORMATS = {
  anthropic: 'anthropic-claude-v1',
  google: 'google-gemini-v1',
  openai: 'openai-responses-v1',
  other: 'unknown',
};
const KIND = 'openrouter.reasoning';

/** Issues and checks `reasoning_details`. */
export class ReasoningDetails {
  constructor(private readonly extras: IssuedExtras) {}

  /** A fragment of thinking; fragments of one index are one detail. */
  fragment(family: Family, text: string): Json {
    if (family === 'openai') return { type: 'reasoning.summary', summary: text, format: FORMATS.openai, index: 0 };
    return { type: 'reasoning.text', text, format: FORMATS[family], index: 0 };
  }

  /** What seals the thinking once it is complete: a signature without text, or an encrypted detail. */
  sealOfThinking(family: Family, thinking: string): Json | undefined {
    if (thinking === '') return undefined;
    const format = FORMATS[family];
    if (family === 'anthropic') {
      return { type: 'reasoning.text', signature: this.extras.issue(KIND, { text: thinking }), format, index: 0 };
    }
    if (family !== 'openai') return undefined;
    const data = this.extras.issue(KIND, { summary: thinking });
    return { type: 'reasoning.encrypted', data, id: `rs_${data.slice(0, 12)}`, format, index: 1 };
  }

  /** Gemini's signature, which belongs to the first call. */
  sealOfCalls(family: Family, calls: readonly CollectedCall[]): Json | undefined {
    const first = calls[0];
    if (family !== 'google' || first === undefined) return undefined;
    const data = this.extras.issue(KIND, callContent(first.name, first.args));
    return { type: 'reasoning.encrypted', data, id: first.id, format: FORMATS.google, index: 0 };
  }

  /** The details of a whole message. */
  whole(family: Family, answer: CollectedAnswer): Json[] {
    const seal = this.sealOfThinking(family, answer.thinking);
    const text = answer.thinking === '' ? [] : [this.fragment(family, answer.thinking)];
    const thinking =
      family === 'anthropic' && seal !== undefined
        ? text.map((one) => ({ ...one, signature: seal['signature'] }))
        : [...text, ...present(seal)];
    return [...thinking, ...present(this.sealOfCalls(family, answer.calls))];
  }

  /**
   * Checks the details of the turn under way as the provider does.
   *
   * @throws Refusal
   */
  check({ model, messages }: OpenrouterChatRequest): void {
    const family = familyOf(model);
    for (const { at, message } of currentTurn(messages)) {
      if (message.role !== 'assistant' || !hasCalls(message)) continue;
      if (family === 'google') this.checkGoogle(message, at);
      if (family === 'anthropic') this.checkAnthropic(message, at);
      if (family === 'openai') this.checkOpenai(message);
    }
  }

  private checkGoogle(message: Assistant, at: number): void {
    const first = message.tool_calls?.[0]?.function;
    const sealed = details(message, 'reasoning.encrypted');
    if (sealed.length === 0) {
      throw googleRefusal(
        'reasoning_details missing',
        `Function call is missing a thought_signature in functionCall parts. Additional data, function call \`default_api:${first?.name}\` , position ${at + 1}.`,
      );
    }
    const content = callContent(first?.name ?? '', first?.arguments ?? '');
    if (sealed.every(({ data }) => this.extras.judge(KIND, content, data) === 'genuine')) return;
    throw googleRefusal('reasoning_details altered', 'Corrupted thought signature.');
  }

  /** A text without its signature, or a signature without the whole of its text, is not valid. Thinking as such may be absent. */
  private checkAnthropic(message: Assistant, at: number): void {
    for (const { text, signature } of details(message, 'reasoning.text')) {
      if (signature && this.extras.judge(KIND, { text: text ?? '' }, signature) === 'genuine') continue;
      const error = {
        type: 'invalid_request_error',
        message: `messages.${at}.content.0: Invalid \`signature\` in \`thinking\` block`,
      };
      throw providerRefusal('reasoning_details altered', 'Anthropic', { type: 'error', error });
    }
  }

  private checkOpenai(message: Assistant): void {
    const summary = details(message, 'reasoning.summary')
      .map((one) => one.summary)
      .join('');
    for (const { data } of details(message, 'reasoning.encrypted')) {
      if (this.extras.judge(KIND, { summary }, data) === 'genuine') continue;
      const error = {
        message: `The encrypted content ${data.slice(0, 4)}... could not be verified.`,
        type: 'invalid_request_error',
        code: 'invalid_encrypted_content',
      };
      throw providerRefusal('reasoning_details altered', 'OpenAI', { error });
    }
  }
}

function details<Type extends ReasoningDetail['type']>(
  message: Assistant,
  type: Type,
): Extract<ReasoningDetail, { type: Type }>[] {
  return (message.reasoning_details ?? []).filter(
    (one): one is Extract<ReasoningDetail, { type: Type }> => one.type === type,
  );
}

function googleRefusal(rule: string, message: string): Refusal {
  return providerRefusal(rule, 'Google AI Studio', { error: { code: 400, message, status: 'INVALID_ARGUMENT' } });
}

function callContent(name: string, args: string): object {
  return { name, args: isJsonObject(args) ? (JSON.parse(args) as object) : args };
}

const present = (value: Json | undefined): Json[] => (value === undefined ? [] : [value]);
