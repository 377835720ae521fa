/** The parts of a request to `/v1/messages` that this adapter writes (page "Messages", platform.claude.com, November 2026). */

export interface CacheControl {
  readonly type: 'ephemeral';
  readonly ttl?: '5m' | '1h';
}

interface Cacheable {
  readonly cache_control?: CacheControl;
}

export interface TextBlock extends Cacheable {
  readonly type: 'text';
  readonly text: string;
}

export interface ImageBlock extends Cacheable {
  readonly type: 'image';
  readonly source:
    | { readonly type: 'base64'; readonly media_type: ImageType; readonly data: string }
    | { readonly type: 'url'; readonly url: string };
}

export interface DocumentBlock extends Cacheable {
  readonly type: 'document';
  readonly source:
    | { readonly type: 'base64'; readonly media_type: 'application/pdf'; readonly data: string }
    | { readonly type: 'text'; readonly media_type: 'text/plain'; readonly data: string }
    | { readonly type: 'url'; readonly url: string };
  readonly title?: string;
}

/** Image types that the endpoint reads. */
export const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof imageTypes)[number];

export type ContentBlock = TextBlock | ImageBlock | DocumentBlock;

export interface ToolResultBlock extends Cacheable {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content?: ContentBlock[];
  readonly is_error?: boolean;
}

export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}

export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
}

/** A block of the provider that is sent back as it came. */
export interface OpaqueBlock {
  readonly type: 'opaque';
  readonly block: Readonly<Record<string, unknown>>;
}

export type UserBlock = ContentBlock | ToolResultBlock;
export type AssistantBlock = TextBlock | ToolUseBlock | ThinkingBlock | RedactedThinkingBlock;

export type Turn<Opaque = never> =
  | { readonly role: 'user'; readonly content: UserBlock[] }
  | { readonly role: 'system'; readonly content: TextBlock[] }
  | { readonly role: 'assistant'; readonly content: (AssistantBlock | Opaque)[] };

export interface ToolDefinition extends Cacheable {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: { readonly type: 'object'; readonly [key: string]: unknown };
}

export type Thinking =
  | { readonly type: 'adaptive'; readonly display?: 'summarized' | 'omitted'; readonly block_binding?: BlockBinding }
  | {
      readonly type: 'enabled';
      readonly budget_tokens: number;
      readonly display?: 'summarized' | 'omitted';
      readonly block_binding?: BlockBinding;
    }
  | { readonly type: 'disabled' }
  | { readonly type: 'between_tools' };

interface BlockBinding {
  readonly prefix_mismatch_behavior: 'drop_block';
}

/** A whole request. `Opaque` are blocks of the provider that have no type here. */
export interface MessagesRequest<Opaque = never> {
  readonly model: string;
  readonly max_tokens: number;
  readonly stream: true;
  readonly thinking?: Thinking;
  readonly tool_choice?: { readonly type: 'auto' } | { readonly type: 'none' };
  readonly tools?: ToolDefinition[];
  readonly system?: TextBlock[];
  readonly messages: Turn<Opaque>[];
}
