import type { ModelConfig } from '@caribou/config';
import type { ModelEndpoint } from '@caribou/core';

/** Identifies a model's provider by host and path of its URL, ignoring a password in it and trailing slashes. */
export function endpointOf({ baseUrl, model }: Pick<ModelConfig, 'baseUrl' | 'model'>): ModelEndpoint {
  const { host, pathname } = new URL(baseUrl);
  return { provider: `${host}${pathname.replace(/\/+$/, '')}`, model };
}
