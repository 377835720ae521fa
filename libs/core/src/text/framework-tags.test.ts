import type { Content } from '@caribou/contracts';
import fc from 'fast-check';
import { defuseFrameworkTags, escapeMarkup } from './framework-tags.js';

describe(escapeMarkup, () => {
  test('what was text opens and closes no tag, and entities stay what they were', () => {
    expect(escapeMarkup('</a> &lt;')).toBe('&lt;/a&gt; &amp;lt;');
  });
});

describe(defuseFrameworkTags, () => {
  test.each<[string, string]>([
    ['<system-reminder>x</system-reminder>', '&lt;system-reminder>x&lt;/system-reminder>'],
    ['<SYSTEM_Reminder kind="a">', '&lt;SYSTEM_Reminder kind="a">'],
    ['< / memory\n>', '&lt; / memory\n>'],
    ['<soul/>', '&lt;soul/>'],
    ['<role', '&lt;role'],
    ['</uploaded_files>', '&lt;/uploaded_files>'],
    ['<available-deferred-tools>', '&lt;available-deferred-tools>'],
    ['<</user_input>', '<&lt;/user_input>'],
    ['＜system-reminder＞', '&lt;system-reminder＞'],
    ['〈／memory〉', '&lt;／memory〉'],
    ['<sys\u200btem-re\u00adminder>', '&lt;sys\u200btem-re\u00adminder>'],
    ['<ѕуѕтем-reminder>', '&lt;ѕуѕтем-reminder>'],
    ['<ｍｅｍｏｒｙ>', '&lt;ｍｅｍｏｒｙ>'],
    ['<mémory>', '&lt;mémory>'],
    ['<𝐦𝐞𝐦𝐨𝐫𝐲>', '&lt;𝐦𝐞𝐦𝐨𝐫𝐲>'],
    ['<system–reminder>', '&lt;system–reminder>'],
    ['<|im_start|>system', '&lt;|im_start|>system'],
    ['<｜begin▁of▁sentence｜>', '&lt;｜begin▁of▁sentence｜>'],
  ])('%j is defused', (text, defused) => {
    expect(defuseFrameworkTags(text)).toBe(defused);
  });

  test.each([
    'a < b',
    '<div>',
    '<memories>',
    '<role-model>',
    'x <| f',
    '&lt;memory>',
    'memory>',
    '<',
    '<!-- soul',
    '‹›',
    '',
  ])('%j is nobody’s tag and stays', (text) => {
    expect(defuseFrameworkTags(text)).toBe(text);
  });

  test('blocks and strings of a list are defused, images stay, and a clean list comes back itself', () => {
    const image = { type: 'image_url', image_url: { url: 'data:,<memory>' } };
    const clean = [{ type: 'text', text: 'hi' }, image, 'you'];

    expect(defuseFrameworkTags(clean)).toBe(clean);
    expect(defuseFrameworkTags([{ type: 'text', text: '<memory>', extra: 1 }, image, '</soul>'])).toEqual([
      { type: 'text', text: '&lt;memory>', extra: 1 },
      image,
      '&lt;/soul>',
    ]);
  });

  test('a tag spread over blocks is defused: models get them joined', () => {
    expect(
      defuseFrameworkTags([{ type: 'text', text: 'a <sys' }, 'tem-', { type: 'text', text: 'reminder>' }]),
    ).toEqual([{ type: 'text', text: 'a &lt;sys' }, 'tem-', { type: 'text', text: 'reminder>' }]);
  });

  test('however a tag is disguised, no `<` of it is left, and nothing else changes', () => {
    const tag = fc.constantFrom('system-reminder', 'memory', 'user_input', 'conversation_summary', 'role');
    const noise = fc.constantFrom('', '\u200b', '\u0301', '\u2060', '\u0000', '\ufe0f');
    const letter = (char: string): fc.Arbitrary<string> =>
      fc.tuple(fc.constantFrom(char, char.toUpperCase()), noise).map((parts) => parts.join(''));
    const disguised = tag.chain((name) => fc.tuple(...Array.from(name, letter)).map((letters) => letters.join('')));
    const opener = fc.constantFrom('<', '＜', '‹', '</', '< ', '<\t/ ');
    const around = fc.string({ unit: 'binary', maxLength: 20 });
    fc.assert(
      fc.property(around, opener, disguised, around, (before, open, name, after) => {
        // A letter or digit right behind would make it another name.
        const text = `${before}${open}${name}>${after}`;

        const defused = defuseFrameworkTags(text);

        expect(defused.slice(before.length)).not.toContain(`${open}${name}`);
        expect(defused).toContain(`&lt;${open.slice(1)}${name}>`);
        expect(defuseFrameworkTags(defused)).toBe(defused);
      }),
    );
  });

  test('long texts of nothing but beginnings take no more than their length', () => {
    let looks = 0;
    const text = `${'<\u200b'.repeat(3_000)}${'<systemreminde'.repeat(3_000)}`;
    const counted = new Proxy(String.prototype.codePointAt, {
      apply: (target, self: string, args: [number]) => ((looks += 1), target.apply(self, args)),
    });
    const spy = jest.spyOn(String.prototype, 'codePointAt').mockImplementation(counted);
    try {
      const content: Content = text;
      expect(defuseFrameworkTags(content)).toBe(text);
    } finally {
      spy.mockRestore();
    }
    expect(looks).toBeLessThan(2 * text.length);
  });
});
