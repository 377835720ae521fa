import { skeletonOf } from './compare.js';
import { type Frame, isRecord, loadRecording } from './frames.js';
import { singleDifferences } from './single-differences.js';

const peer = loadRecording('one-tool', 'combined').frames;

/** What is told of a copy of the recording after `change`. */
function toldAfter(change: (frames: Frame[]) => Frame[] | undefined): readonly string[] {
  const copy = structuredClone(peer);
  const changed = change(copy) ?? copy;
  return singleDifferences(skeletonOf(peer), skeletonOf(changed));
}

const firstData = (frames: readonly Frame[], event: string): Record<string, unknown> => {
  const data = frames.find((frame) => frame.event === event)?.data;
  if (!isRecord(data)) throw new Error(`no ${event} frame`);
  return data;
};

describe(singleDifferences, () => {
  test('tells nothing of a stream beside itself', () => {
    expect(toldAfter(() => undefined)).toEqual([]);
  });

  test('tells an added frame, a missing one, and one that moved, each once', () => {
    expect(toldAfter((frames) => [...frames, { event: 'end', data: null, id: 'last' }])).toEqual(['+ frame end']);
    expect(toldAfter((frames) => frames.filter(({ event }) => event !== 'custom'))).toEqual([
      '- frame custom(tool_log)',
    ]);
    expect(
      toldAfter((frames) => {
        const custom = frames.filter(({ event }) => event === 'custom');
        return [...custom, ...frames.filter(({ event }) => event !== 'custom')];
      }),
    ).toEqual(['~ frame custom(tool_log) at another place']);
  });

  test('names an added object once, whatever lies inside it', () => {
    const told = toldAfter((frames) => {
      firstData(frames, 'values')['box'] = { driver: 'x', limits: { cpus: 1 } };
      return undefined;
    });

    expect(told).toEqual(['+ state.box']);
  });

  test('names messages by what they are, wherever they stand', () => {
    const told = toldAfter(
      (frames) => JSON.parse(JSON.stringify(frames).replaceAll('"name":"model"', '"alias":"model"')) as Frame[],
    );

    expect(told).toEqual(['+ ai message.alias', '- ai message.name']);
  });

  test('tells an id that joins other places, and ids of frames that are not unique', () => {
    const told = toldAfter((frames) =>
      frames.map((frame) => {
        const [message, metadata]: unknown[] = Array.isArray(frame.data) ? frame.data : [];
        if (frame.event !== 'messages' || !isRecord(message) || message['type'] !== 'tool')
          return { ...frame, id: '1' };
        return { ...frame, id: '1', data: [{ ...message, id: 'another' }, metadata] };
      }),
    );

    expect(told).toContain('- id messages(tool).message.id = values.messages[](tool).id');
    expect(told).toContain('~ frame ids: mixed');
  });
});
