import { readShape } from '../../chat/shape.js';
import { answerProblem, type Problem } from '../../framework/problem.js';
import type {
  CheckedRequest,
  HttpAnswer,
  InputTokens,
  Vendor,
  VendorDefinition,
  VendorRequest,
  VendorSession,
} from '../../framework/vendor.js';
import { AnswerBlocks, type ThinkingDisplay } from './answer-blocks.js';
import { checkBreakpoints } from './checks/breakpoints.js';
import { checkHistory, checkLastTurn } from './checks/history.js';
import { checkLatestAnswer } from './checks/latest-answer.js';
import { checkVersion2026 } from './checks/version.js';
import { BINDING_BETA, checkOptions, thinkingOf, thinksOn } from './checks/options.js';
import { anthropicProblems, errorAnswer, invalid } from './errors.js';
import { IssuedAnswers } from './issued-answers.js';
import { profileOf, type ThinkingType } from './models.js';
import { promptOf } from './prompt.js';
import { type CacheUse, PromptCache } from './prompt-cache.js';
import { MessagesRenderer, STOP_REASONS } from './renderer.js';
import { MessagesBody, type MessagesRequest } from './shape.js';
import { shapeRefusal } from './shape-errors.js';
import { checkThinkingBlocks, ThinkingIssuer } from './thinking-blocks.js';
import { toChat } from './to-chat.js';
import { continuesTools, type Turn, turnsOf } from './turns.js';
import { Refusal } from '../../framework/refusal.js';

const INTERLEAVED_BETA = 'interleaved-thinking-2025-05-14';
const VERSIONS = ['2023-06-01', '2026-10-21'] as const;

/** The Messages API of Anthropic, as documented in November 2026. */
export const anthropic: VendorDefinition = {
  name: 'anthropic',
  open: (session) => new AnthropicVendor(session),
};

class AnthropicVendor implements Vendor {
  readonly basePath = '';
  readonly path = /^\/v1\/messages$/;
  readonly stopReasons = STOP_REASONS;
  private readonly cache = new PromptCache();
  private readonly answers = new IssuedAnswers();

  constructor(private readonly session: VendorSession) {}

  authorized(headers: VendorRequest['headers'], apiKey: string): boolean {
    const key = headers['x-api-key'];
    return key === undefined ? headers.authorization === `Bearer ${apiKey}` : key === apiKey;
  }

  refuse(problem: Problem): HttpAnswer | undefined {
    return answerProblem(anthropicProblems, problem);
  }

  callId(unique: string, index: number): string {
    return `toolu_${unique}_${index}`;
  }

  check({ headers, body }: VendorRequest): CheckedRequest {
    checkHeaders(headers);
    const request = readShape(MessagesBody, body, (issue) => shapeRefusal(issue, body));
    if (headers['anthropic-version'] === '2026-10-21') checkVersion2026(request);
    return this.checkRequest(request, betasOf(headers));
  }

  private checkRequest(request: MessagesRequest, betas: ReadonlySet<string>): CheckedRequest {
    const { model } = request;
    const profile = profileOf(model);
    const turns = turnsOf(request);
    const thinking = thinkingOf(request, profile);
    const prompt = promptOf(request);
    checkOptions(request, profile, betas);
    checkHistory(request, turns, profile);
    checkLastTurn(turns, { profile, thinks: thinksOn(thinking), paused: this.answers });
    checkBreakpoints(prompt);
    checkLatestAnswer(turns, { thinking, model, answers: this.answers });
    const { dropped, chain } = checkThinkingBlocks(prompt, {
      extras: this.session.extras,
      model,
      dropMismatch: dropsMismatch(request),
      latestMessage: request.messages.findLastIndex(({ role }) => role === 'assistant'),
    });
    const unseen = new Set(dropped.map(({ path }) => path));
    const cache = this.cache.meet({
      model,
      blocks: prompt.filter(({ path }) => !unseen.has(path)),
      minTokens: profile.minCacheTokens,
      messageOptions: [request.thinking ?? null, request.tool_choice ?? null],
    });
    return {
      chat: toChat(request),
      stream: request.stream === true,
      input: inputTokens(cache),
      createRenderer: (responseId) =>
        new MessagesRenderer({
          responseId,
          model,
          cache,
          blocks: new AnswerBlocks(
            new ThinkingIssuer(this.session.extras, model, chain),
            displayOf(request, { thinking, turns, betas }),
          ),
          transformations: betas.has(BINDING_BETA) ? dropped : undefined,
          onDone: (blocks, stopReason) => this.answers.add({ model, blocks }, stopReason === 'pause_turn'),
        }),
    };
  }
}

function checkHeaders(headers: VendorRequest['headers']): void {
  if (headers['x-api-key'] === undefined && headers.authorization === undefined) {
    throw new Refusal('key header', errorAnswer(401, 'x-api-key header is required'));
  }
  const version = headers['anthropic-version'];
  if (version === undefined) throw invalid('version header', 'anthropic-version: header is required');
  if (!VERSIONS.some((known) => known === version)) {
    throw invalid('version header', `anthropic-version: "${String(version)}" is not a valid version`);
  }
  if (!/^application\/json\b/.test(headers['content-type'] ?? '')) {
    throw invalid('content type', 'content-type: must be application/json');
  }
}

function betasOf(headers: VendorRequest['headers']): ReadonlySet<string> {
  return new Set(
    [headers['anthropic-beta'] ?? ''].flat().flatMap((text) => text.split(',').map((beta) => beta.trim())),
  );
}

function dropsMismatch({ thinking }: MessagesRequest): boolean {
  return (
    thinking !== undefined &&
    'block_binding' in thinking &&
    thinking.block_binding?.prefix_mismatch_behavior === 'drop_block'
  );
}

/** Models with manual thinking think once in a turn, before its first call, unless a beta header asks for more. */
function displayOf(
  request: MessagesRequest,
  { thinking, turns, betas }: { thinking: ThinkingType; turns: readonly Turn[]; betas: ReadonlySet<string> },
): ThinkingDisplay {
  if (!thinksOn(thinking)) return 'none';
  if (thinking === 'enabled' && continuesTools(turns.at(-1)) && !betas.has(INTERLEAVED_BETA)) return 'none';
  const asked = request.thinking !== undefined && 'display' in request.thinking ? request.thinking.display : undefined;
  return asked ?? (profileOf(request.model).omitsThinking ? 'omitted' : 'summarized');
}

function inputTokens({ total, read, written }: CacheUse): InputTokens {
  return { total, cached: read, cacheWritten: written['5m'] + written['1h'] };
}
