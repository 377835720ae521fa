/** How the chat completions of a provider or server differ from OpenAI's. The sources are in dialects.ts. */
export interface Dialect {
  /** Whether user messages may have a `name`; else it is left out. The texts of named messages say what they are. */
  readonly userNames: boolean;
  /** `alphanumeric-9`: exactly nine letters and digits; others: up to 40 letters, digits, `_` and `-`. */
  readonly callIds: 'openai' | 'alphanumeric-9';
  /** Whether answers without text and calls, such as those of thinking only, are sent back. */
  readonly emptyAnswers: boolean;
  /** Whether a user message may follow the results of tools; else a short answer is sent between them. */
  readonly userAfterTool: boolean;
  /** Name of the limit of an answer's tokens; `extra_body` with the other name overrides it. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** Whether `stream_options` are sent; without them the provider reports usage by itself. */
  readonly streamOptions: boolean;
  /** Whether `response_format` is sent for answers in JSON; the prompt asks for JSON anyway. */
  readonly jsonMode: boolean;
  /** Fields of every request, which the configured `extra_body` overrides. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Field of an assistant message that has the reasoning sent back. */
  readonly reasoningField: 'reasoning_content' | 'reasoning';
  /** Whether the text of earlier reasoning is sent back; `send_reasoning` of the configuration overrides it. */
  readonly sendsReasoning: boolean;
  /** Reasoning of answers that have none, where the provider requires the field; undefined where it does not. */
  readonly missingReasoning: string | undefined;
  /** Whether `missingReasoning` is for answers with calls only. */
  readonly requiresReasoningOf: 'calls' | 'all';
  /** Name of the tag around reasoning at the beginning of the content; undefined where the server never sends it there. */
  readonly thinkingTag: 'think' | 'thought' | 'reasoning' | undefined;
  /** Whether list contents are sent back with their thinking chunks. */
  readonly thinkingChunks: boolean;
  /** What opaque extras are bound to: extras of another provider, or of another model of it, are not sent. */
  readonly extrasOf: 'model' | 'provider';
  /** Fields for the first call of an answer that has no `extra_content` of this model. */
  foreignCall?(model: string): Readonly<Record<string, unknown>>;
}
