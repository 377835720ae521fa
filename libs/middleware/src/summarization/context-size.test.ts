import { humanMessage } from '@caribou/testing';
import { isReached, startOfNewest } from './context-size.js';

const fill = { messages: 8, tokens: 500, maxInputTokens: 1000 };

describe(isReached, () => {
  test.each([
    [{ type: 'messages', value: 8 }, true],
    [{ type: 'messages', value: 9 }, false],
    [{ type: 'tokens', value: 500 }, true],
    [{ type: 'tokens', value: 501 }, false],
    [{ type: 'fraction', value: 0.5 }, true],
    [{ type: 'fraction', value: 0.51 }, false],
  ] as const)('%j of 8 messages, 500 tokens and a limit of 1000: %s', (size, expected) => {
    expect(isReached(size, fill)).toBe(expected);
  });

  test('a share of an unknown limit is never reached', () => {
    expect(isReached({ type: 'fraction', value: 0.01 }, { messages: 900, tokens: 1e9 })).toBe(false);
  });
});

describe(startOfNewest, () => {
  // Each of 10 tokens.
  const messages = Array.from({ length: 12 }, (_, index) => humanMessage('x'.repeat(24), `${index}`));

  test.each([
    [{ type: 'messages', value: 3 }, 9],
    [{ type: 'messages', value: 30 }, 0],
    [{ type: 'tokens', value: 30 }, 9],
    [{ type: 'tokens', value: 39 }, 9],
    [{ type: 'tokens', value: 9 }, 12],
    [{ type: 'tokens', value: 1000 }, 0],
    [{ type: 'fraction', value: 0.02 }, 10],
  ] as const)('%j begins at %i', (size, start) => {
    expect(startOfNewest(messages, size, 1000)).toBe(start);
  });

  test('a share of an unknown limit is ten messages', () => {
    expect(startOfNewest(messages, { type: 'fraction', value: 0.9 }, undefined)).toBe(2);
  });
});
