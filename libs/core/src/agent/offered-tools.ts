import type { AnyTool } from './tool.js';

/** What an installation says of the tools that agents have. */
export interface ToolRules {
  /** Names of tools that nobody is offered. */
  readonly hidden: readonly string[];
  /** Groups by name of the tool, in the place of its own. */
  readonly groups: Readonly<Record<string, string>>;
}

/** The tools that are not hidden, each in its group. */
export function offeredTools(tools: readonly AnyTool[], { hidden, groups }: ToolRules): readonly AnyTool[] {
  return tools
    .filter(({ name }) => !hidden.includes(name))
    .map((tool) => {
      const group = Object.hasOwn(groups, tool.name) ? groups[tool.name] : undefined;
      return group === undefined || group === tool.group ? tool : { ...tool, group };
    });
}

/** The tools of these groups, and those without one, which every agent has; null: all. */
export const toolsOfGroups = (tools: readonly AnyTool[], groups: readonly string[] | null): readonly AnyTool[] =>
  groups === null ? tools : tools.filter(({ group }) => group === undefined || groups.includes(group));
