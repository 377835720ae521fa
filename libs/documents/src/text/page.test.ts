import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DeadlineError } from '@caribou/contracts';
import { documentConverter } from '../index.js';

const repository = join(__dirname, '..', '..', '..', '..');
// Each conversion starts a process.
jest.setTimeout(90_000);

const converter = documentConverter({
  program: join(repository, 'dist/libs/documents/src/conversion/conversion-process.js'),
});
const URL_OF_PAGE = 'https://site.test/docs/page.html';
const SENTENCE = 'The herd moves north when the snow melts, and it comes back in autumn, as it has for ages. ';
const article = (inner = ''): string => `<p>${SENTENCE.repeat(5)}</p>`.repeat(4) + inner;

const converted = (html: string, url: string = URL_OF_PAGE): Promise<string> =>
  converter.toMarkdown(Buffer.from(html), { kind: 'page', url, limits: { deadlineMs: 60_000 } });

beforeAll(() => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'libs/contracts', 'libs/documents'], { cwd: repository });
});

describe('a page', () => {
  test('gives its article under its title, without menus, scripts and other surroundings', async () => {
    const markdown = await converted(
      `<!doctype html><html><head><title>Migration | Site</title><script>var a = "evil";</script></head><body>
       <nav><ul><li><a href="/">Home</a></li><li><a href="/more">More</a></li></ul></nav>
       <article><h1>Migration</h1>${article('<h2>Food</h2><ul><li>lichen</li><li>moss</li></ul>')}</article>
       <footer>Imprint</footer></body></html>`,
    );

    expect(markdown).toMatch(/^# Migration \| Site\n\nThe herd moves north/);
    expect(markdown).toMatch(/## Food\n\n- +lichen\n- +moss\n/);
    expect(markdown).not.toMatch(/Home|Imprint|evil/);
  });

  test.each([
    ['the URL of the page', '', 'https://site.test/docs/next'],
    ['a base of its own', '<base href="/other/">', 'https://site.test/other/next'],
    ['a base on another host', '<base href="https://b.test/x/">', 'https://b.test/x/next'],
    ['the URL again, when the base is invalid', '<base href="http://">', 'https://site.test/docs/next'],
  ])('has links that are relative to %s', async (_, base, link) => {
    const markdown = await converted(
      `<html><head>${base}</head><body><article>${article('<p>Read <a href="next">on</a>, please, and more.</p>')}`,
    );

    expect(markdown).toContain(`[on](${link})`);
  });

  test('removes links that run code or hold data', async () => {
    const links = '<p>See <a href="javascript:alert(1)">one</a>, <a href="data:text/html,x">two</a>, here.</p>';

    expect(await converted(`<article>${article(links)}</article>`)).toContain('See one, two, here.');
  });

  test.each([
    ['only a title', '<title>Short</title><p>Hello there', '# Short\n\nHello there\n'],
    ['no tags at all', 'just text', '# Untitled\n\njust text\n'],
    ['a head and no body', '<html><head><title>T</title></head><p>one<p>two</html>', '# T\n\none\n\ntwo\n'],
    ['a body and no html', '<title>T</title><body class="a"><p>one', '# T\n\none\n'],
    ['text behind the body', '<html><body><p>one</body><p>two</html>', '# Untitled\n\none\n\ntwo\n'],
    ['a title over lines', '<title>\n a\n  b </title><p>one', '# a b\n\none\n'],
  ])('is given whole when there is no article: %s', async (_, html, markdown) => {
    expect(await converted(html)).toBe(markdown);
  });

  test.each(['', '<html></html>', '<title>T</title><script>1</script>'])(
    'without text is an error: %p',
    async (html) => {
      await expect(converted(html)).rejects.toThrow('the page has no text');
    },
  );

  test('made to take for ever ends at its deadline', async () => {
    const html = Buffer.from('<div>'.repeat(20_000));
    const conversion = converter.toMarkdown(html, { kind: 'page', url: URL_OF_PAGE, limits: { deadlineMs: 2_000 } });

    await expect(conversion).rejects.toThrow(DeadlineError);
  });
});
