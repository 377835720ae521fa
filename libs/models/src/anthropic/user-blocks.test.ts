import { toContentBlocks } from './user-blocks.js';

const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' };

describe('toContentBlocks', () => {
  test.each([
    [
      { type: 'image_url', image_url: { url: 'https://x.example/a.png', detail: 'low' } },
      { type: 'url', url: 'https://x.example/a.png' },
    ],
    [
      { type: 'image_url', image_url: 'data:image/jpg;base64,AA==' },
      { type: 'base64', media_type: 'image/jpeg', data: 'AA==' },
    ],
    [
      { type: 'image', source_type: 'base64', mime_type: 'image/webp', data: 'AA==' },
      { type: 'base64', media_type: 'image/webp', data: 'AA==' },
    ],
    [
      { type: 'image', base64: 'AA==', mime_type: 'image/gif' },
      { type: 'base64', media_type: 'image/gif', data: 'AA==' },
    ],
    [
      {
        type: 'image',
        source: { type: 'base64', media_type: 'image/png', data: 'AA==' },
        cache_control: { type: 'ephemeral' },
      },
      { type: 'base64', media_type: 'image/png', data: 'AA==' },
    ],
    [
      { type: 'file', source_type: 'base64', mime_type: 'image/png', data: 'AA==' },
      { type: 'base64', media_type: 'image/png', data: 'AA==' },
    ],
  ])('%j is an image', (block, source) => {
    expect(toContentBlocks([block])).toEqual([{ type: 'image', source }]);
  });

  test.each([
    [{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERg==', filename: 'a.pdf' } }, pdf, 'a.pdf'],
    [
      { type: 'file', source_type: 'base64', mime_type: 'application/pdf', data: 'JVBERg==', filename: 'b.pdf' },
      pdf,
      'b.pdf',
    ],
    [{ type: 'document', source: pdf, title: 'T', cache_control: { type: 'ephemeral' } }, pdf, 'T'],
    [
      { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } },
      { type: 'url', url: 'https://x.example/a.pdf' },
      undefined,
    ],
    [
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain' } },
      { type: 'text', media_type: 'text/plain', data: 'plain' },
      undefined,
    ],
    [
      { type: 'file', base64: 'R3LDvMOfZQ==', mime_type: 'text/markdown' },
      { type: 'text', media_type: 'text/plain', data: 'Grüße' },
      undefined,
    ],
  ])('%j is a document', (block, source, title) => {
    expect(toContentBlocks([block])).toEqual([{ type: 'document', source, ...(title === undefined ? {} : { title }) }]);
  });

  test('what the endpoint does not read is left out, and an image of another type is named', () => {
    const blocks = [
      { type: 'audio', data: 'AA==' },
      { type: 'image_url', image_url: 'file:///etc/passwd' },
      { type: 'image' },
      { type: 'file' },
      { type: 'document', source: { type: 'text', data: ' ' } },
      { type: 'text', text: '  ' },
      '',
    ];
    expect(toContentBlocks(blocks)).toEqual([]);
    expect(toContentBlocks([{ type: 'image_url', image_url: 'data:image/svg+xml;base64,AA==' }])).toEqual([
      { type: 'text', text: '(An image of the type image/svg+xml, which cannot be shown.)' },
    ]);
  });
});
