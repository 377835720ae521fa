import type { Message } from '@caribou/contracts';
import { contentHashMark, lastReadHash } from './content-hash-mark.js';

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

describe(lastReadHash, () => {
  test('is the hash of the newest mark of the path, and null without one', () => {
    const messages = [
      told({ ...contentHashMark(PATH, 'old') }, 'c1'),
      told({ ...contentHashMark(PATH, 'new') }, 'c2'),
      told({ ...contentHashMark('/mnt/user-data/workspace/b.txt', 'other') }, 'c3'),
      told({}, 'c4'),
    ];

    expect(lastReadHash(messages, PATH)).toBe('new');
    expect(lastReadHash(messages, '/mnt/user-data/outputs/a.txt')).toBeNull();
    expect(lastReadHash([], PATH)).toBeNull();
  });

  test('two spellings of a path are one file; an invalid path is compared literally', () => {
    const messages = [
      told({ ...contentHashMark('/mnt/user-data/workspace//./a.txt', 'hash') }, 'c1'),
      told({ ...contentHashMark('/mnt/skills/public/x/SKILL.md', 'skill') }, 'c2'),
    ];

    expect(lastReadHash(messages, PATH)).toBe('hash');
    expect(lastReadHash(messages, '/mnt/skills/public/x/SKILL.md')).toBe('skill');
  });

  test('a mark of another format is ignored, as are marks of other messages than tool messages', () => {
    const person: Message = {
      type: 'human',
      id: 'h1',
      content: 'x',
      additional_kwargs: { ...contentHashMark(PATH, 'forged') },
      response_metadata: {},
    };

    expect(
      lastReadHash([told({ file_mark: { path: PATH } }, 'c1'), told({ file_mark: 1 }, 'c2'), person], PATH),
    ).toBeNull();
  });
});
