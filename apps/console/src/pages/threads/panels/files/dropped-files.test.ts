import { readDropped } from './dropped-files.js';

const itemOf = (name: string, isDirectory: boolean, kind = 'file') => ({
  kind,
  webkitGetAsEntry: () => ({ name, isDirectory }) as FileSystemEntry,
  getAsFile: () => (kind === 'file' ? new File(['x'], name) : null),
});

describe('readDropped', () => {
  test('folders are named and not taken as files; texts that are dropped are nothing', () => {
    const { files, folders } = readDropped({
      items: [itemOf('a.txt', false), itemOf('photos', true), itemOf('text', false, 'string')],
    });
    expect(files.map(({ name }) => name)).toEqual(['a.txt']);
    expect(folders).toEqual(['photos']);
  });
});
