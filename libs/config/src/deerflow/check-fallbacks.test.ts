import { type DeerflowFolder, useDeerflowFolder } from '../testing/deerflow-folder.js';

let opened: DeerflowFolder;
useDeerflowFolder((folder) => {
  opened = folder;
});

const list = (fallbacks: string): string => `
models:
  - {name: first, base_url: "http://127.0.0.1:9/v1", fallbacks: ${fallbacks}}
  - {name: second, base_url: "http://127.0.0.1:9/v1"}
  - {name: gone, use: "langchain_google_vertexai:ChatVertexAI"}
`;

describe('fallbacks of a model', () => {
  test('are names of other models, in order', () => {
    expect(opened.load(list('[second]')).models[0]?.fallbacks).toEqual(['second']);
    expect(opened.load(list('[]')).models[0]?.fallbacks).toEqual([]);
  });

  test.each([
    ['[third]', 'models: fallbacks of "first": there is no model "third"'],
    ['[first]', 'models: fallbacks of "first": must not name the model itself'],
    ['[second, second]', 'models: fallbacks of "first": "second" is named twice'],
    ['[a, b, c, d, e, f]', 'must name at most 5 models'],
    ['second', 'models[0].fallbacks'],
  ])('%s stops the start', (fallbacks, text) => {
    expect(() => opened.load(list(fallbacks))).toThrow(text);
  });

  test('a model that is left out is a warning, and the others remain', () => {
    const config = opened.load(list('[gone, second]'));

    expect(config.models[0]?.fallbacks).toEqual(['second']);
    expect(config.warnings).toContain('models: fallbacks of "first": "gone" is not used, as it is left out');
  });
});
