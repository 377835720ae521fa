import { gatheredLines } from './gathered-lines.js';

describe('gatheredLines', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('lines that come close together go out together, in order', () => {
    const sent: string[] = [];
    const lines = gatheredLines((text) => sent.push(text));
    lines.write('a\n');
    jest.advanceTimersByTime(49);
    lines.write('b\n');
    expect(sent).toEqual([]);

    jest.advanceTimersByTime(1);
    lines.write('c\n');
    jest.advanceTimersByTime(50);

    expect(sent).toEqual(['a\nb\n', 'c\n']);
  });

  test('a flush sends at once what waits, and leaves nothing to be sent again', () => {
    const sent: string[] = [];
    const lines = gatheredLines((text) => sent.push(text));
    lines.write('a\n');
    lines.flush();
    lines.flush();
    jest.advanceTimersByTime(100);

    expect(sent).toEqual(['a\n']);
  });
});
