import type { ModelConfig } from '@caribou/config';
import type { ModelEndpoint } from '@caribou/core';

/** Identifies a model's provider by host and path of its URL, ignoring a password in it and trailing slashes. */
export function endpointOf({ baseUrl, model }: Pick<ModelConfig, 'baseUrl' | 'model'>): ModelEndpoint {
  const { host, pathname } = new URL(baseUrl);
  return { provider: `${host}${pathname.replace(/\/+$/, '')}`, model };
}

/** Where an answer and its extras come from: extras are sent to the same origin only. */
export interface AnswerOrigin extends ModelEndpoint {
  /** The protocol, or its variant. */
  readonly dialect: string;
}

/** The origin of a model's answers. */
export function originOf({ baseUrl, model, protocol, dialect }: OriginConfig): AnswerOrigin {
  return {
    ...endpointOf({ baseUrl, model }),
    dialect: protocol === 'chat_completions' ? dialect : protocol,
  };
}

type OriginConfig = Pick<ModelConfig, 'baseUrl' | 'model' | 'protocol' | 'dialect'>;
