import { followsEnd, type ScrollFacts } from './followed-end.js';

const facts = (over: Partial<ScrollFacts>): ScrollFacts => ({
  wasFollowing: true,
  isAtEnd: false,
  hasMovedUp: true,
  hasOtherHeight: false,
  hasGesture: false,
  ...over,
});

describe('a list that follows its end', () => {
  test.each<[string, Partial<ScrollFacts>, boolean]>([
    ['is left by scrolling up', {}, false],
    ['is left by a gesture while its content grows', { hasGesture: true, hasOtherHeight: true }, false],
    ['is not left when content shrinks and grows before the scroll is heard of', { hasOtherHeight: true }, true],
    ['is not left when it moves down without reaching the end', { hasMovedUp: false }, true],
    ['is followed again at its end', { wasFollowing: false, isAtEnd: true }, true],
    ['is not followed again before its end', { wasFollowing: false, hasMovedUp: false }, false],
  ])('%s', (_, over, expected) => {
    expect(followsEnd(facts(over))).toBe(expected);
  });
});
