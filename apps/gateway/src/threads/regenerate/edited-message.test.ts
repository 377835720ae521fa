import type { Content, HumanMessage } from '@caribou/contracts';
import { replaceMessageText } from './edited-message.js';

const said = (content: Content): HumanMessage => ({
  type: 'human',
  id: 'old',
  content,
  additional_kwargs: { files: [{ filename: 'a.txt' }] },
  response_metadata: {},
});
const image = { type: 'image_url', image_url: { url: 'x' } };

describe(replaceMessageText, () => {
  test.each<[string, Content, Content]>([
    ['plain words', 'old words', 'new'],
    ['the parts of the page', [{ type: 'text', text: 'old' }], [{ type: 'text', text: 'new' }]],
    [
      'several texts around an image',
      [image, { type: 'text', text: 'old' }, 'more', image],
      [image, { type: 'text', text: 'new' }, image],
    ],
    ['an image alone', [image], [{ type: 'text', text: 'new' }, image]],
  ])('%s', (_what, before, after) => {
    const edited = replaceMessageText(said(before), 'new');

    expect(edited).toEqual({ ...said(after), id: edited.id });
    expect(edited.id).not.toBe('old');
  });
});
