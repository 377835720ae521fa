import { z } from 'zod';
import { selectOfferedTools, toolsOfGroups } from './offered-tools.js';
import { type AnyTool, defineTool } from './tool.js';

const tool = (name: string, group?: string): AnyTool =>
  defineTool({
    name,
    description: name,
    input: z.object({}),
    run: () => Promise.resolve({ content: name }),
    ...(group === undefined ? {} : { group }),
  });
const tools = [tool('ls', 'file:read'), tool('bash', 'bash'), tool('present_files')];

describe(selectOfferedTools, () => {
  test('omits hidden tools and gives the others their configured groups', () => {
    const offered = selectOfferedTools(tools, { hidden: ['bash', 'nothing'], groups: { ls: 'mine', bash: 'mine' } });

    expect(offered.map(({ name, group }) => [name, group])).toEqual([
      ['ls', 'mine'],
      ['present_files', undefined],
    ]);
    expect(tools[0]?.group).toBe('file:read');
  });

  test('a tool whose group stays is the same one', () => {
    expect(selectOfferedTools(tools, { hidden: [], groups: { ls: 'file:read' } })).toEqual(tools);
    expect(selectOfferedTools(tools, { hidden: [], groups: {} })[0]).toBe(tools[0]);
  });
});

describe(toolsOfGroups, () => {
  const namesIn = (groups: readonly string[] | null) => toolsOfGroups(tools, groups).map(({ name }) => name);

  test('null is all of them, a list those in it; a tool without a group is always there', () => {
    expect(namesIn(null)).toEqual(['ls', 'bash', 'present_files']);
    expect(namesIn(['bash', 'web'])).toEqual(['bash', 'present_files']);
    expect(namesIn([])).toEqual(['present_files']);
  });
});
