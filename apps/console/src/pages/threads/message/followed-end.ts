import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from 'react';

/** Time after a gesture in which a list that moves is moved by it. */
const GESTURE_MS = 1_000;

export interface ScrollFacts {
  readonly wasFollowing: boolean;
  readonly isAtEnd: boolean;
  readonly hasMovedUp: boolean;
  /** The content had another height at the scroll before. */
  readonly hasOtherHeight: boolean;
  /** A person used the wheel, a key, a finger or the pointer in the list a moment ago. */
  readonly hasGesture: boolean;
}

/**
 * Whether a list follows its end after a scroll. A person leaves the end by scrolling up. A browser scrolls up too, when the content
 * shrinks and grows again before the page hears of it: that is no wish to leave.
 */
export function followsEnd(facts: ScrollFacts): boolean {
  if (facts.isAtEnd) return true;
  const isByPerson = facts.hasMovedUp && (facts.hasGesture || !facts.hasOtherHeight);
  return facts.wasFollowing && !isByPerson;
}

interface FollowedList {
  readonly isAtEnd: () => boolean;
  readonly scrollToEnd: () => void;
  /** The height of all rows, in pixels. */
  readonly height: number;
  /** The message that the person has just sent: with it the list follows its end again. */
  readonly sent: string | undefined;
}

/** Stays at the end while content grows and the room for it changes, until a person scrolls up. */
export function useFollowedEnd(
  scroller: RefObject<HTMLDivElement | null>,
  { isAtEnd, scrollToEnd, height, sent }: FollowedList,
): { readonly onScroll: () => void; readonly hasScrolled: RefObject<boolean> } {
  const follows = useRef(true);
  const hasScrolled = useRef(false);
  const gestureAt = useRef(-GESTURE_MS);
  const last = useRef({ top: 0, height: 0 });
  const heightNow = useRef(height);

  const stay = useCallback((): void => {
    if (follows.current && !isAtEnd()) scrollToEnd();
  }, [isAtEnd, scrollToEnd]);
  useLayoutEffect(() => {
    heightNow.current = height;
    stay();
  }, [height, stay]);
  useLayoutEffect(() => {
    if (sent === undefined) return;
    follows.current = true;
    stay();
  }, [sent, stay]);
  useEffect(() => {
    const list = scroller.current;
    if (list === null) return undefined;
    const onGesture = (): void => {
      gestureAt.current = performance.now();
    };
    const gestures = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const;
    for (const gesture of gestures) list.addEventListener(gesture, onGesture, { passive: true });
    const observer = new ResizeObserver(stay);
    observer.observe(list);
    return () => {
      for (const gesture of gestures) list.removeEventListener(gesture, onGesture);
      observer.disconnect();
    };
  }, [scroller, stay]);

  const onScroll = (): void => {
    const top = scroller.current?.scrollTop ?? 0;
    hasScrolled.current = true;
    follows.current = followsEnd({
      wasFollowing: follows.current,
      isAtEnd: isAtEnd(),
      hasMovedUp: top < last.current.top,
      hasOtherHeight: heightNow.current !== last.current.height,
      hasGesture: performance.now() - gestureAt.current < GESTURE_MS,
    });
    last.current = { top, height: heightNow.current };
  };
  return { onScroll, hasScrolled };
}
