import { skeletonOf } from './compare.js';
import { type Frame, isRecord, loadRecording } from './frames.js';
import { singleDifferences } from './single-differences.js';

const peer = loadRecording('one-tool', 'combined').frames;

/** The differences of a copy of the recording after `change`. */
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
  test('reports nothing for a stream and itself', () => {
    expect(toldAfter(() => undefined)).toEqual([]);
  });

  test('reports an added frame, a missing one, and one that moved, each once', () => {
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

  test('names an added object once, whatever it contains', () => {
    const differences = toldAfter((frames) => {
      firstData(frames, 'values')['box'] = { driver: 'x', limits: { cpus: 1 } };
      return undefined;
    });

    expect(differences).toEqual(['+ state.box']);
  });

  test('names messages by their type, at any path', () => {
    const differences = toldAfter(
      (frames) => JSON.parse(JSON.stringify(frames).replaceAll('"name":"model"', '"alias":"model"')) as Frame[],
    );

    expect(differences).toEqual(['+ ai message.alias', '- ai message.name']);
  });

  test('reports an id at other paths, and ids of frames that are not unique', () => {
    const differences = toldAfter((frames) =>
      frames.map((frame) => {
        const [message, metadata]: unknown[] = Array.isArray(frame.data) ? frame.data : [];
        if (frame.event !== 'messages' || !isRecord(message) || message['type'] !== 'tool')
          return { ...frame, id: '1' };
        return { ...frame, id: '1', data: [{ ...message, id: 'another' }, metadata] };
      }),
    );

    expect(differences).toContain('- id messages(tool).message.id = values.messages[](tool).id');
    expect(differences).toContain('~ frame ids: mixed');
  });
});
