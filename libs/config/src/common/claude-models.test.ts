import { traitsOfModel } from './claude-models.js';

const at = (...models: string[]) => models.map((model) => traitsOfModel(model));

describe('traitsOfModel', () => {
  test('models up to 4.5 think with a budget and take sampling parameters', () => {
    for (const traits of at('claude-3-7-sonnet-20250219', 'claude-opus-4-20250514', 'anthropic/claude-sonnet-4.5')) {
      expect(traits).toMatchObject({ thinking: 'budget', thinkingOff: 'omit', sampling: true, bindsThinking: false });
      expect(traits.defaultMaxTokens).toBe(32_000);
    }
    expect(at('claude-3-7-sonnet-20250219', 'claude-haiku-4-5').map((traits) => traits.needsInterleavedHeader)).toEqual(
      [false, true],
    );
  });

  test('4.6 is the first that thinks adaptively, 4.7 the first that refuses sampling and hides its thoughts', () => {
    expect(traitsOfModel('us.anthropic.claude-opus-4-6-v1')).toMatchObject({ thinking: 'adaptive', sampling: true });
    expect(traitsOfModel('claude-opus-4-7')).toMatchObject({
      thinking: 'adaptive',
      thinkingOff: 'omit',
      sampling: false,
      hidesThinking: true,
      systemMessages: false,
    });
    expect(traitsOfModel('claude-opus-4-8').systemMessages).toBe(true);
  });

  test.each([
    ['claude-opus-5', 'disabled', false],
    ['claude-sonnet-5', 'disabled', false],
    ['claude-fable-5', 'always_on', false],
    ['claude-mythos-preview', 'always_on', false],
    ['claude-fable-5-1', 'always_on', true],
    ['claude-opus-5-5', 'always_on', true],
    ['claude-sonnet-5-5', 'between_tools', true],
    ['claude-haiku-5-5', 'disabled', true],
  ])('%s switches thinking off by %s, and binds its thoughts: %s', (model, thinkingOff, bindsThinking) => {
    expect(traitsOfModel(model)).toMatchObject({ thinking: 'adaptive', thinkingOff, bindsThinking, sampling: false });
  });

  test('a Claude without a version has the rules of the newest, an older one those of its time', () => {
    expect(traitsOfModel('claude-latest')).toEqual(traitsOfModel('claude-opus-5-5'));
    expect(traitsOfModel('claude-opus-6')).toEqual(traitsOfModel('claude-opus-5-5'));
    expect(traitsOfModel('claude-2.1')).toMatchObject({ thinkingOff: 'omit', sampling: true, defaultMaxTokens: 4_096 });
    expect(at('claude-3-5-haiku-latest', 'claude-3-opus-20240229').map((traits) => traits.defaultMaxTokens)).toEqual([
      8_192, 4_096,
    ]);
  });

  test('levels of effort rise with the generations', () => {
    const models = ['claude-sonnet-4-5', 'claude-opus-4-5', 'claude-sonnet-4-6', 'claude-haiku-5-5'];
    expect(models.map((model) => traitsOfModel(model).effort.join(' '))).toEqual([
      '',
      'low medium high',
      'low medium high max',
      'low medium high xhigh max',
    ]);
  });

  test('a model of another vendor behind the protocol has a switch, a budget and sampling, and no effort', () => {
    expect(traitsOfModel('kimi-k2.5')).toMatchObject({
      thinking: 'budget',
      thinkingOff: 'disabled',
      sampling: true,
      effort: [],
      bindsThinking: false,
    });
  });
});
