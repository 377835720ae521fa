import { traitsOfModel } from '@caribou/config';
import { originOf } from '../http/endpoint.js';
import type { OpenProtocol } from '../http/http-model.js';
import { buildRequest } from './build-request.js';
import { cacheControlOf } from './cache-breakpoints.js';
import { encodeRequest } from './encode-request.js';
import { EventReader } from './event-reader.js';
import { postMessages } from './messages-client.js';
import { withoutRefusedThinking } from './refused-thinking.js';

/** Anthropic's messages. */
export const messages: OpenProtocol = (config, transport) => {
  const anthropic = config.anthropic ?? {
    ...traitsOfModel(config.model),
    promptCaching: true,
    cacheTtl: '5m' as const,
  };
  const options = { model: { ...config, anthropic }, anthropic, origin: originOf(config) };
  const mark = cacheControlOf(anthropic);
  return {
    encode: (call) => encodeRequest(buildRequest(options, call), mark),
    post: withoutRefusedThinking(postMessages(options.model, transport)),
    newReader: () => new EventReader(),
  };
};
