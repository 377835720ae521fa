import { ViewerFiles } from './index.js';

describe('ViewerFiles', () => {
  const files = new ViewerFiles();

  test('gives script and style of the installed package, the same content each time', async () => {
    const script = await files.get('swagger-ui-bundle.js');
    const style = await files.get('swagger-ui.css');

    expect(script?.contentType).toMatch(/javascript/);
    expect(script?.content.toString()).toContain('SwaggerUIBundle');
    expect(style?.contentType).toMatch(/css/);
    expect(style?.content.toString()).toContain('.swagger-ui');
    expect((await files.get('swagger-ui.css'))?.content).toBe(style?.content);
  });

  test.each(['', 'index.html', '../package.json', 'swagger-ui.css.map', 'constructor'])(
    'has no file %p',
    async (name) => {
      expect(await files.get(name)).toBeUndefined();
    },
  );
});
