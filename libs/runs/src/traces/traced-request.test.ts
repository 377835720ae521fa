import { CONTEXT_MESSAGE } from '@caribou/core';
import { human } from '@caribou/testing';
import { messageParts } from './traced-request.js';

const message = (id: string, content: string, name?: string) => ({
  ...human(content),
  id,
  ...(name === undefined ? {} : { name }),
});

describe(messageParts, () => {
  const asked = message('h1', 'question');
  const context = message(`${CONTEXT_MESSAGE}:0`, 'Today is Monday.', CONTEXT_MESSAGE);

  test('the context of the thread is a text of the user, what else the chain adds one of the thread', () => {
    const parts = messageParts([context, message('r1', 'a reminder'), asked], { before: [asked], after: [] });

    expect(parts).toEqual([
      { hash: expect.any(String), text: JSON.stringify(context), isOfUser: true },
      { hash: expect.any(String), text: JSON.stringify(message('r1', 'a reminder')) },
      { isBefore: true, from: 0, count: 1 },
    ]);
  });

  test('a message of the thread that has the name of the context, and that the chain rewrote, is one of the thread', () => {
    const forged = message(context.id, 'short', CONTEXT_MESSAGE);
    const rewritten = message(context.id, 'quite another text, '.repeat(200), CONTEXT_MESSAGE);

    const parts = messageParts([rewritten], { before: [forged], after: [] });

    expect(parts).not.toMatchObject([{ isOfUser: true }]);
  });
});
