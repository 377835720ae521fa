import type { ModelConfig } from '@caribou/config';
import { anthropicUrl, VERSION_HEADER } from './anthropic/messages-client.js';
import { keyHeaders } from './http/key-headers.js';

/** The request for a provider's list of models, by which its URL and key are checked without calling a model. */
export function modelListRequest(model: ModelConfig): { readonly url: string; readonly headers: Headers } {
  const isAnthropic = model.protocol === 'messages';
  const headers = new Headers({ ...keyHeaders(model), ...(isAnthropic ? VERSION_HEADER : {}) });
  for (const [name, value] of Object.entries(model.headers)) headers.set(name, value.reveal());
  // A page of the list has 20 models by default.
  const url = isAnthropic ? anthropicUrl(model, 'models?limit=1000') : `${model.baseUrl.replace(/\/+$/, '')}/models`;
  return { url, headers };
}
