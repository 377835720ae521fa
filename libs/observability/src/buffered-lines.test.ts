import { bufferLines } from './buffered-lines.js';

describe('bufferLines', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('lines written within the delay are sent together, in order', () => {
    const sent: string[] = [];
    const lines = bufferLines((text) => sent.push(text));
    lines.write('a\n');
    jest.advanceTimersByTime(49);
    lines.write('b\n');
    expect(sent).toEqual([]);

    jest.advanceTimersByTime(1);
    lines.write('c\n');
    jest.advanceTimersByTime(50);

    expect(sent).toEqual(['a\nb\n', 'c\n']);
  });

  test('a flush sends the buffered lines at once, and only once', () => {
    const sent: string[] = [];
    const lines = bufferLines((text) => sent.push(text));
    lines.write('a\n');
    lines.flush();
    lines.flush();
    jest.advanceTimersByTime(100);

    expect(sent).toEqual(['a\n']);
  });
});
