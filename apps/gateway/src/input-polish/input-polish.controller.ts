import { ForbiddenError, inputPolishRoutes, omitUndefined, type RouteInput, TooLargeError } from '@caribou/contracts';
import type { ThreadStore } from '@caribou/state';
import { Controller } from '@nestjs/common';
import { keyLabel, type Principal } from '../auth/principal.js';
import { Dependency } from '../dependency.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { SingleCalls } from '../models/single-calls.js';
import type { GatewaySettings } from '../settings.js';
import { createPolishCall, readPolished } from './polish-call.js';

/** Under what usage shows these calls. */
const AGENT = 'input-polish';
const MAX_AT_ONCE = 2;

@Controller(API_ROOTS)
export class InputPolishController {
  constructor(
    @Dependency('threadStore') private readonly threads: Pick<ThreadStore, 'getThread'>,
    @Dependency('settings') private readonly settings: Pick<GatewaySettings, 'inputPolish'>,
    private readonly calls: SingleCalls,
  ) {}

  /** @throws {ModelError} when the model fails: the draft is not returned as if it had been rewritten */
  @Route(inputPolishRoutes.polish)
  async polish(@Caller() caller: Principal, @Input() { body }: RouteInput<typeof inputPolishRoutes.polish>) {
    const { enabled, maxChars, modelName, timeoutMs } = this.settings.inputPolish;
    const { text, locale, thread_id: threadId } = body;
    if (!enabled) throw new ForbiddenError('drafts are not rewritten here: input_polish.enabled is false');
    if (text.length > maxChars)
      throw new TooLargeError(`text: must have at most ${maxChars} characters (input_polish.max_chars)`, {
        details: { limit: maxChars },
      });
    const { userId } = caller;
    if (typeof threadId === 'string') await this.threads.getThread({ userId, threadId });
    const payer = { userId, apiKey: keyLabel(caller), ...omitUndefined({ threadId: threadId ?? undefined }) };
    const call = createPolishCall(text, locale ?? undefined);
    const asked = { call, payer, agent: AGENT, timeoutMs, maxChars: maxChars * 8 + 20_000 };
    const rewritten = readPolished(await this.calls.askFor(modelName ?? undefined, asked, MAX_AT_ONCE), text);
    return { rewritten_text: rewritten, changed: rewritten.trim() !== text.trim() };
  }
}
