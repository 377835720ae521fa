import { currentTurn } from '../../tools/demo-model/conversation.js';
import type { ReportedTokens } from '../../tools/demo-model/answer.js';
import type { ChatRequest } from '../../tools/demo-model/request-check.js';
import type { ProviderCall } from './history.js';

/** A word of `planThread` or `turnsAfter`, which is unique among the turns of a run of chaos. */
export const WORD = /w\d+x\d+x\d+z|after\d+z/;

/** The word with what names one of several runs of a turn: the first of two may be rolled back after its title was written. */
const NAMED_RUN = new RegExp(`(?:${WORD.source})\\w*`);

/**
 * Describes a complete answer of the scripted model by the request for it. Calls of one step of a run have the same key,
 * however often they are repeated; so have those of one run for the title of its thread and for the extraction of one conversation.
 */
export function providerCallOf(request: ChatRequest, { input, cached, output }: ReportedTokens): ProviderCall {
  const { humanText, after } = currentTurn(request.messages);
  const text = withoutUploads(humanText);
  const tokens = { model: request.model, input, cached, output };
  const [, said] = /<conversation>\n([\s\S]*)/.exec(text) ?? [];
  if (said !== undefined) return { kind: 'memory', key: `memory ${wordIn(said)}`, step: 0, text: said, ...tokens };
  if (request.tools === undefined)
    return { kind: 'title', key: `title ${wordIn(text, NAMED_RUN)}`, step: 0, text, ...tokens };
  const step = after.filter(({ role }) => role === 'assistant').length;
  return { kind: 'run', key: `${step} ${text}`, step, text, ...tokens };
}

/** The block that lists uploads names files after earlier turns, whose requests may not have been accepted. */
const UPLOADS = /<uploaded_files>[\s\S]*?<\/uploaded_files>\s*/g;
const withoutUploads = (text: string): string => text.replaceAll(UPLOADS, '');

const wordIn = (text: string, pattern = WORD): string => pattern.exec(text)?.[0] ?? text.slice(0, 200);
