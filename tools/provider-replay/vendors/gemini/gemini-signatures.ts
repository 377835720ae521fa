import type { CollectedCall } from '../../chat/collected-answer.js';
import { currentTurn, isJsonObject, textOfContent } from '../../chat/conversation.js';
import type { IssuedExtras } from '../../framework/issued-extras.js';
import { badSignature, missingSignature } from './gemini-errors.js';
import type { GeminiChatRequest } from './gemini-request.js';

/** The two texts that Google documents for calls that no Gemini model made. */
const ESCAPES = new Set(['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']);

type Assistant = Extract<GeminiChatRequest['messages'][number], { role: 'assistant' }>;
type ToolCall = NonNullable<Assistant['tool_calls']>[number];

const CALL = 'gemini.call';
const TEXT = 'gemini.text';

/** Only Gemini 3 and later insist on signatures. */
export const needsSignatures = (model: string): boolean => /gemini-([3-9]|\d\d)/.test(model);

/** Thought signatures: of the first call of a step, and of a text. */
export class GeminiSignatures {
  constructor(private readonly extras: IssuedExtras) {}

  ofCall({ name, args }: CollectedCall): string {
    return this.extras.issue(CALL, callContent(name, args));
  }

  ofText(text: string): string {
    return this.extras.issue(TEXT, { text });
  }

  /**
   * Checks the signatures of the turn under way; earlier turns are not validated.
   *
   * @throws Refusal when the first call of a step has none, or one is not at the part it was issued for.
   */
  check({ model, messages }: GeminiChatRequest): void {
    if (!needsSignatures(model)) return;
    for (const { at, message } of currentTurn(messages)) {
      if (message.role === 'assistant') this.checkMessage(message, at + 1);
    }
  }

  private checkMessage(message: Assistant, position: number): void {
    for (const [index, call] of (message.tool_calls ?? []).entries()) {
      const signature = call.extra_content?.google.thought_signature;
      if (index === 0 && !signature) throw missingSignature(call.function.name, position);
      if (signature) this.checkCall(call, signature);
    }
    const ofText = message.extra_content?.google.thought_signature;
    if (!ofText) return;
    if (this.extras.judge(TEXT, { text: textOfContent(message.content) }, ofText) !== 'genuine') throw badSignature();
  }

  private checkCall({ function: made }: ToolCall, signature: string): void {
    if (ESCAPES.has(signature)) return;
    if (this.extras.judge(CALL, callContent(made.name, made.arguments), signature) !== 'genuine') throw badSignature();
  }
}

/** A call's arguments are a Struct on Google's side, so only their value counts. */
function callContent(name: string, args: string): object {
  return { name, args: isJsonObject(args) ? (JSON.parse(args) as object) : args };
}
