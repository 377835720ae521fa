import { invalid } from '../errors.js';
import type { ModelProfile } from '../models.js';
import type { MessagesRequest } from '../shape.js';
import { blocksOf, type PlacedBlock, type Turn } from '../turns.js';

/** Where the paused answers are that may be continued as they were. */
export interface PausedAnswers {
  isPaused(turn: Turn): boolean;
}

/**
 * Checks who speaks when, that no block is empty, and that each call of a tool is answered directly after it.
 *
 * @throws Refusal in the vendor's words.
 */
export function checkHistory(request: MessagesRequest, turns: readonly Turn[], profile: ModelProfile): void {
  if (turns[0]?.role !== 'user') throw invalid('first message', 'messages: first message must use the "user" role');
  const system = request.messages.findIndex(({ role }) => role === 'system');
  if (system >= 0 && !profile.systemMessages) {
    throw invalid(
      'system message',
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    );
  }
  checkRoles(turns);
  checkEmpty(request);
  checkPairs(turns);
}

const BLOCKS_OF_ROLE: Readonly<Record<Turn['role'], ReadonlySet<string>>> = {
  user: new Set(['text', 'image', 'document', 'search_result', 'tool_result']),
  assistant: new Set(['text', 'tool_use', 'thinking', 'redacted_thinking']),
  system: new Set(['text']),
};

function checkRoles(turns: readonly Turn[]): void {
  for (const { role, blocks } of turns) {
    const wrong = blocks.find(({ block }) => !BLOCKS_OF_ROLE[role].has(block.type));
    if (wrong === undefined) continue;
    throw invalid(
      'blocks of a role',
      `${wrong.path}: \`${wrong.block.type}\` blocks are not allowed in ${role} messages`,
    );
  }
}

function checkEmpty({ messages, system }: MessagesRequest): void {
  if (typeof system !== 'string') {
    const empty = system?.findIndex(({ text }) => text === '') ?? -1;
    if (empty >= 0) throw invalid('empty text', 'system: text content blocks must be non-empty');
  }
  messages.forEach((message, at) => {
    const blocks = blocksOf(message);
    const isLast = at === messages.length - 1;
    if (blocks.length === 0 && !(isLast && message.role === 'assistant')) {
      throw invalid(
        'empty message',
        `messages.${at}: all messages must have non-empty content except for the optional final assistant message`,
      );
    }
    for (const block of blocks) {
      if (block.type !== 'text') continue;
      if (block.text === '') throw invalid('empty text', 'messages: text content blocks must be non-empty');
      if (block.text.trim() === '')
        throw invalid('empty text', 'messages: text content blocks must contain non-whitespace text');
    }
  });
}

function checkPairs(turns: readonly Turn[]): void {
  const seen = new Set<string>();
  turns.forEach((turn, at) => {
    if (turn.role === 'user') return checkResults(turn, turns[at - 1]);
    const calls = callsOf(turn);
    for (const { id, placed } of calls) {
      if (seen.has(id)) throw invalid('unique tool_use ids', `${placed.path}: \`tool_use\` ids must be unique`);
      seen.add(id);
    }
    refuseUnanswered(turn, calls, turns[at + 1]);
  });
}

function callsOf(turn: Turn): { id: string; placed: PlacedBlock }[] {
  return turn.blocks.flatMap((placed) => (placed.block.type === 'tool_use' ? [{ id: placed.block.id, placed }] : []));
}

/** Results only count before anything else in the message after the calls. */
function refuseUnanswered(turn: Turn, calls: readonly { id: string }[], next: Turn | undefined): void {
  const answered = new Set<string>();
  for (const { block } of next?.role === 'user' ? next.blocks : []) {
    if (block.type !== 'tool_result') break;
    answered.add(block.tool_use_id);
  }
  const open = calls.filter(({ id }) => !answered.has(id)).map(({ id }) => id);
  if (open.length === 0) return;
  throw invalid(
    'results after calls',
    `messages.${turn.blocks.at(-1)?.message ?? 0}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
      `${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  );
}

function checkResults(turn: Turn, before: Turn | undefined): void {
  const asked = new Set(before?.role === 'assistant' ? callsOf(before).map(({ id }) => id) : []);
  const answered = new Set<string>();
  for (const { block, path } of turn.blocks) {
    if (block.type !== 'tool_result') continue;
    const id = block.tool_use_id;
    if (!asked.has(id)) {
      throw invalid(
        'results of known calls',
        `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
          'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
      );
    }
    if (answered.has(id)) {
      throw invalid(
        'one result for a call',
        `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      );
    }
    answered.add(id);
  }
}

/**
 * Checks what the model is to continue: a user's turn, or an assistant's where the model takes that.
 *
 * @throws Refusal
 */
export function checkLastTurn(
  turns: readonly Turn[],
  { profile, thinks, paused }: { profile: ModelProfile; thinks: boolean; paused: PausedAnswers },
): void {
  const last = turns.at(-1);
  if (last?.role !== 'assistant' || paused.isPaused(last)) return;
  if (!profile.prefill || thinks) {
    throw invalid(
      'prefill',
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    );
  }
  const block = last.blocks.at(-1)?.block;
  if (block?.type === 'text' && block.text !== block.text.trimEnd()) {
    throw invalid('prefill', 'messages: final assistant content cannot end with trailing whitespace');
  }
}
