import { encodeBody } from '../http/request-body.js';
import type { OpenProtocol } from '../http/http-model.js';
import { postByOpenAi } from '../http/openai-client.js';
import { buildRequest } from './build-request.js';
import { EventReader } from './event-reader.js';
import { withoutUnverified } from './unverified-reasoning.js';

/** OpenAI's Responses, without state at the provider. */
export const responses: OpenProtocol = (config, transport) => ({
  encode: (call) => encodeBody(buildRequest(config, call)),
  post: withoutUnverified(postByOpenAi('/responses', { config, transport })),
  newReader: () => new EventReader(),
});
