import { omitUndefined } from '@caribou/contracts';
import type { ModelDelta } from '@caribou/core';
import { z } from 'zod';

const count = z.int().min(0);

/** The form of `ModuleDelta` of libs/core. */
const CheckedDelta = z.strictObject({
  text: z.string().optional(),
  reasoning: z.string().optional(),
  toolCalls: z
    .array(
      z.strictObject({
        index: z.int().min(0).max(127),
        id: z.string().min(1).max(1_000).optional(),
        name: z.string().min(1).max(200).optional(),
        args: z.string().default(''),
      }),
    )
    .optional(),
  usage: z
    .strictObject({
      inputTokens: count,
      outputTokens: count,
      cachedInputTokens: count.optional(),
      cacheWriteTokens: count.optional(),
      reasoningTokens: count.optional(),
    })
    .optional(),
  finishReason: z.string().min(1).max(100).optional(),
  extras: z
    .strictObject({
      message: z.unknown().optional(),
      calls: z.record(z.string().regex(/^\d{1,3}$/), z.unknown()).optional(),
      parts: z.array(z.unknown()).optional(),
    })
    .optional(),
  metadata: z.record(z.string().max(100), z.union([z.string().max(1_000), z.number(), z.boolean()])).optional(),
});

/** A delta of a module as one of the product, or what is wrong with it. */
export function fromModule(given: unknown): { readonly delta: ModelDelta } | { readonly fault: string } {
  const parsed = CheckedDelta.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { fault: `delta.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}` };
  }
  const { text, reasoning, toolCalls, usage, finishReason, extras, metadata } = parsed.data;
  return {
    delta: omitUndefined({
      content: text,
      reasoning,
      toolCallChunks: toolCalls?.map(({ index, id = null, name = null, args }) => ({
        index,
        id,
        name,
        args,
        type: 'tool_call_chunk' as const,
      })),
      usage: usage === undefined ? undefined : usageOf(usage),
      finishReason,
      responseMetadata: metadata,
      extras: extras === undefined ? undefined : omitUndefined(extras),
    }),
  };
}

type Counts = NonNullable<z.output<typeof CheckedDelta>['usage']>;

function usageOf(counts: Counts): NonNullable<ModelDelta['usage']> {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = counts;
  const input = omitUndefined({ cache_read: cachedInputTokens, cache_creation: cacheWriteTokens });
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(Object.keys(input).length === 0 ? {} : { input_token_details: input }),
    ...(reasoningTokens === undefined ? {} : { output_token_details: { reasoning: reasoningTokens } }),
  };
}
