import { IssuedExtras } from './issued-extras.js';

describe(IssuedExtras, () => {
  const extras = new IssuedExtras();
  const content = { name: 'bash', args: { b: 1, a: [2, { d: 4, c: 3 }] } };

  test('a token is genuine beside its content, whatever the order of keys', () => {
    const token = extras.issue('signature', content);

    expect(extras.judge('signature', { args: { a: [2, { c: 3, d: 4 }], b: 1 }, name: 'bash' }, token)).toBe('genuine');
    expect(extras.find(token)).toEqual({ kind: 'signature', token, content });
  });

  test('a token of other content or of another kind is moved', () => {
    const token = extras.issue('signature', content);

    expect(extras.judge('signature', { ...content, name: 'ls' }, token)).toBe('moved');
    expect(extras.judge('encrypted', content, token)).toBe('moved');
  });

  test('a token that was changed, shortened, or issued by another server is forged', () => {
    const token = extras.issue('signature', content);
    const changed = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`;

    for (const other of [changed, token.slice(4), `${token} `, '', new IssuedExtras().issue('signature', content)]) {
      expect(extras.judge('signature', content, other)).toBe('forged');
    }
  });

  test('no two tokens of the same content are equal', () => {
    expect(extras.issue('signature', content)).not.toBe(extras.issue('signature', content));
  });
});
