import type { HumanMessage, Message } from '@caribou/contracts';
import { ai, human } from '@caribou/testing';
import { findTurnInput } from './turn-input.js';

const system: Message = { type: 'system', id: 's', content: 'rule', additional_kwargs: {}, response_metadata: {} };
const hidden = (marks: HumanMessage['additional_kwargs']): HumanMessage => ({
  ...human('hint'),
  additional_kwargs: { hide_from_ui: true, ...marks },
});

describe(findTurnInput, () => {
  test("a client's messages between the state before the turn and its first answer", () => {
    const before = [human('first', 'h1'), ai('answer', 'a1')];
    const asked = [human('second', 'h2'), system, hidden({ deerflow_from_client: true })];
    const after = [...before, ...asked, hidden({}), ai('answer', 'a2'), human('a hint of the loop', 'h3')];

    expect(findTurnInput(before, after)).toEqual(asked);
    expect(findTurnInput([], [human('only', 'h1')])).toEqual([human('only', 'h1')]);
    expect(findTurnInput(after, after)).toEqual([]);
  });

  test('of a run that messages joined, those too', () => {
    const [asked, joined] = [human('first', 'h1'), human('and this', 'h2')];

    expect(findTurnInput([], [asked, ai('answer', 'a1'), joined, ai('more', 'a2')], { isSteered: true })).toEqual([
      asked,
      joined,
    ]);
  });

  test('without the block that the server has put in front of the text', () => {
    const said = { ...human('look at this', 'h1'), additional_kwargs: { files: [{ filename: 'a.txt' }] } };
    const marks = { ...said.additional_kwargs, original_user_content: 'look at this' };
    const image = { type: 'image_url', image_url: { url: 'data:' } };
    const blocks = [{ type: 'text', text: '<uploaded_files/>' }, { type: 'text', text: 'look at this' }, image];

    expect(
      findTurnInput([], [{ ...said, content: '<uploaded_files/>\n\nlook at this', additional_kwargs: marks }]),
    ).toEqual([said]);
    expect(findTurnInput([], [{ ...said, content: blocks, additional_kwargs: marks }])).toEqual([
      { ...said, content: [{ type: 'text', text: 'look at this' }, image] },
    ]);
  });
});
