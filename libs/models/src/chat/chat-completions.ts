import type { OpenProtocol } from '../http/http-model.js';
import { postByOpenAi } from '../http/openai-client.js';
import { encodeBody } from '../http/request-body.js';
import { buildRequest } from './build-request.js';
import { ChunkReader } from './chunk-reader.js';
import { dialects } from './dialects/dialects.js';

/** OpenAI's chat completions, in the dialect of the model. */
export const chatCompletions: OpenProtocol = (config, transport) => ({
  encode: (call) => encodeBody(buildRequest(config, call)),
  post: postByOpenAi('/chat/completions', { config, transport }),
  newReader: () => new ChunkReader(dialects[config.dialect]),
});
