import { readShape } from '../../chat/shape.js';
import { answerProblem, type Problem } from '../../framework/problem.js';
import type {
  CheckedRequest,
  HttpAnswer,
  Vendor,
  VendorDefinition,
  VendorRequest,
  VendorSession,
} from '../../framework/vendor.js';
import { checkCalls } from './checks/calls.js';
import { checkOptions, reasons } from './checks/options.js';
import { checkEncrypted, checkPairs } from './checks/reasoning.js';
import { resolveInput } from './checks/references.js';
import { responsesProblems, shapeRefusal } from './errors.js';
import { IssuedItems } from './issued-items.js';
import { OutputItems } from './output-items.js';
import { PrefixCache } from './prefix-cache.js';
import { ResponsesRenderer } from './renderer.js';
import { ResponsesBody, type ResponsesRequest } from './shape.js';
import { toChat } from './to-chat.js';

/** The Responses API of OpenAI, as documented in November 2026. */
export const responses: VendorDefinition = {
  name: 'openai-responses',
  open: (session) => new ResponsesVendor(session),
};

class ResponsesVendor implements Vendor {
  readonly basePath = '/v1';
  readonly path = /^\/v1\/responses$/;
  private readonly cache = new PrefixCache();
  private readonly issued = new IssuedItems();

  constructor(private readonly session: VendorSession) {}

  authorized(headers: VendorRequest['headers'], apiKey: string): boolean {
    return headers.authorization === `Bearer ${apiKey}`;
  }

  callId(unique: string, index: number): string {
    return `call_${unique}${String(index).padStart(4, '0')}`;
  }

  refuse(problem: Problem): HttpAnswer | undefined {
    return answerProblem(responsesProblems, problem);
  }

  check({ body }: VendorRequest): CheckedRequest {
    const request = readShape(ResponsesBody, body, shapeRefusal);
    checkOptions(request);
    const items = resolveInput(request, this.issued);
    checkCalls(items);
    checkPairs(items, this.issued);
    const { model, instructions, tools } = request;
    const { removed, chain } = checkEncrypted(items, { extras: this.session.extras, model, instructions, tools });
    const unseen = new Set(removed.map(({ id }) => id));
    const seen = items.filter((item) => !(item.type === 'reasoning' && unseen.has(item.id)));
    const prompt = JSON.stringify([instructions ?? null, tools ?? null, seen]);
    return {
      chat: toChat(request, items),
      stream: request.stream === true,
      input: this.cache.meet(`${model} ${request.prompt_cache_key ?? ''}`, prompt),
      createRenderer: (responseId) =>
        new ResponsesRenderer({
          responseId,
          request,
          removed,
          output: new OutputItems({
            responseId,
            model,
            extras: this.session.extras,
            chain,
            reasons: reasons(model) && request.reasoning?.effort !== 'none',
            summaries: Boolean(request.reasoning?.summary),
            encrypted: request.include?.includes('reasoning.encrypted_content') === true,
          }),
          onDone: (output) => this.issued.add(`resp_${responseId}`, output, isStored(request) ? items : undefined),
        }),
    };
  }
}

/** Responses are stored unless the client says otherwise. */
const isStored = ({ store }: ResponsesRequest): boolean => store !== false;
