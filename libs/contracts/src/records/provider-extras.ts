import { z } from 'zod';

/** A part of an answer's `parts` that stands for one of its tool calls. */
export const CallPart = z.strictObject({ call: z.string() });
export type CallPart = z.infer<typeof CallPart>;

/**
 * What a provider requires back unchanged with an answer, such as signatures of thoughts. It is stored with the message and sent
 * to the same provider only. Clients never see it, and cannot write it.
 */
export const ProviderExtras = z.object({
  /** Host and path of the base URL, as in `ModelEndpoint`. */
  provider: z.string(),
  /** The provider's name of the model. */
  model: z.string(),
  dialect: z.string(),
  /** Fields of the message. */
  message: z.unknown().optional(),
  /** Fields of tool calls, by the id of the call. */
  calls: z.record(z.string(), z.unknown()).optional(),
  /**
   * The answer as the provider's own items or blocks, in order. What the message has is not repeated: `{ text: n }` stands
   * for the next n UTF-16 units of its text, and a `CallPart` for a call.
   */
  parts: z.array(z.unknown()).optional(),
});
export type ProviderExtras = z.infer<typeof ProviderExtras>;

/** A message without what is hidden from clients; the same object when there is nothing to hide. */
export function toClientMessage<T extends object>(message: T): T {
  if (!('provider_extras' in message)) return message;
  const { provider_extras: _hidden, ...shown } = message;
  return shown as T;
}
