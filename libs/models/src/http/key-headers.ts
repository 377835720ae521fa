import type { ModelConfig } from '@caribou/config';

/**
 * The header that has a model's key; none without a key. It is `Authorization: Bearer`, but `x-api-key` for Anthropic's messages, and `api-key` at
 * Azure, whose bearer tokens are Entra ID's ("Authentication", learn.microsoft.com/azure/ai-foundry/openai/reference, November 2026). Those are JSON web tokens.
 */
export function keyHeaders({
  apiKey,
  dialect,
  protocol,
}: Pick<ModelConfig, 'apiKey' | 'dialect' | 'protocol'>): Readonly<Record<string, string>> {
  if (apiKey === undefined) return {};
  const key = apiKey.reveal();
  if (protocol === 'messages') return { 'x-api-key': key };
  return dialect === 'azure' && !key.startsWith('eyJ') ? { 'api-key': key } : { authorization: `Bearer ${key}` };
}
