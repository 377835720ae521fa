/**
 * @typedef {import('../../libs/extensions/src/index.js').Toolkit} Toolkit Types only: nothing of Caribou is imported
 *   when this runs. Remove the line where Caribou's sources are not available.
 */

/**
 * A budget of words for each thread: it counts the words that the agent writes to the user, shows the agent how many are
 * left, has a tool for that, and ends a run when the budget is used up.
 *
 * @param {Toolkit} caribou
 * @param {Readonly<Record<string, unknown>>} options `{words}`: the budget, 1 or more; 2000 when absent
 */
export function wordBudget({ defineMiddleware, defineTool, textOf, z }, options) {
  const { words: budget } = z.strictObject({ words: z.int().min(1).default(2000) }).parse(options);
  const Spent = z.object({ used: z.int().min(0) });

  /** @param {unknown} own */
  const usedOf = (own) => Spent.safeParse(own).data?.used ?? 0;

  const wordsLeft = defineTool({
    name: 'words_left',
    description: 'Tells how many words you may still write in this conversation.',
    input: z.object({}),
    run: (_input, { own }) => `${Math.max(0, budget - usedOf(own))} of ${budget} words are left.`,
  });

  return defineMiddleware({
    name: 'word-budget',
    state: Spent,
    tools: [wordsLeft],

    beforeModel(_state, { own, decided }) {
      if (usedOf(own) < budget) return;
      decided('used up', { budget });
      const content = `The budget of ${budget} words for this conversation is used up. Start a new one to go on.`;
      return { update: { messages: [{ type: 'ai', content }] }, stopReason: 'word_budget', end: true };
    },

    wrapModelCall(request, next, { own }) {
      const left = `<word_budget>You may write ${budget - usedOf(own)} more words.</word_budget>`;
      return next({ ...request, system: `${request.system}\n\n${left}` });
    },

    async afterModel({ messages }, { own, emit }) {
      const answer = messages.at(-1);
      if (answer?.type !== 'ai') return;
      const words = textOf(answer.content).split(/\s+/).filter(Boolean).length;
      if (words === 0) return;
      const used = usedOf(own) + words;
      await emit({ type: 'word_budget', used, budget });
      return { own: { used } };
    },
  });
}
