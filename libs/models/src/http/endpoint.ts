import type { ModelConfig } from '@caribou/config';
import { memoize, type ModelEndpoint } from '@caribou/core';

/** Identifies a model's provider by host and path of its URL, ignoring a password in it and trailing slashes. */
export const endpointOf = memoize(({ baseUrl, model }: Pick<ModelConfig, 'baseUrl' | 'model'>): ModelEndpoint => {
  const { host, pathname } = new URL(baseUrl);
  return { provider: `${host}${pathname.replace(/\/+$/, '')}`, model };
});

/** Where an answer and its extras come from: extras are sent to the same origin only. */
export interface AnswerOrigin extends ModelEndpoint {
  /** The protocol, or its variant. */
  readonly dialect: string;
}

/** The origin of a model's answers. */
export const originOf = memoize((config: OriginConfig): AnswerOrigin => {
  const { protocol, dialect } = config;
  return { ...endpointOf(config), dialect: protocol === 'chat_completions' ? dialect : protocol };
});

type OriginConfig = Pick<ModelConfig, 'baseUrl' | 'model' | 'protocol' | 'dialect'>;
