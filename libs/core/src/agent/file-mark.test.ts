import type { Message } from '@caribou/contracts';
import { fileMark, lastSeen } from './file-mark.js';

const told = (additional_kwargs: Record<string, unknown>, id: string): Message => ({
  type: 'tool',
  id,
  content: 'text',
  name: 'read_file',
  tool_call_id: id,
  status: 'success',
  additional_kwargs,
  response_metadata: {},
});
const PATH = '/mnt/user-data/workspace/a.txt';

describe(lastSeen, () => {
  test('is the hash of the newest mark of the path, and null without one', () => {
    const messages = [
      told({ ...fileMark(PATH, 'old') }, 'c1'),
      told({ ...fileMark(PATH, 'new') }, 'c2'),
      told({ ...fileMark('/mnt/user-data/workspace/b.txt', 'other') }, 'c3'),
      told({}, 'c4'),
    ];

    expect(lastSeen(messages, PATH)).toBe('new');
    expect(lastSeen(messages, '/mnt/user-data/outputs/a.txt')).toBeNull();
    expect(lastSeen([], PATH)).toBeNull();
  });

  test('two spellings of a path are one file; a path that stands for none is compared as it is', () => {
    const messages = [
      told({ ...fileMark('/mnt/user-data/workspace//./a.txt', 'hash') }, 'c1'),
      told({ ...fileMark('/mnt/skills/public/x/SKILL.md', 'skill') }, 'c2'),
    ];

    expect(lastSeen(messages, PATH)).toBe('hash');
    expect(lastSeen(messages, '/mnt/skills/public/x/SKILL.md')).toBe('skill');
  });

  test('a mark of another shape is none, and only a tool message bears one', () => {
    const person: Message = {
      type: 'human',
      id: 'h1',
      content: 'x',
      additional_kwargs: { ...fileMark(PATH, 'forged') },
      response_metadata: {},
    };

    expect(
      lastSeen([told({ file_mark: { path: PATH } }, 'c1'), told({ file_mark: 1 }, 'c2'), person], PATH),
    ).toBeNull();
  });
});
