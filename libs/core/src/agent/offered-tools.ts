import type { AnyTool } from './tool.js';

/** How the installation's configuration changes the tools of agents. */
export interface ToolRules {
  /** Names of tools that no agent gets. */
  readonly hidden: readonly string[];
  /** Group by tool name; overrides the tool's own group. */
  readonly groups: Readonly<Record<string, string>>;
}

/** The tools that are not hidden, each with its configured group. */
export function selectOfferedTools(tools: readonly AnyTool[], { hidden, groups }: ToolRules): readonly AnyTool[] {
  return tools
    .filter(({ name }) => !hidden.includes(name))
    .map((tool) => {
      const group = Object.hasOwn(groups, tool.name) ? groups[tool.name] : undefined;
      return group === undefined || group === tool.group ? tool : { ...tool, group };
    });
}

/** The tools of these groups, and those without a group, which every agent has; all tools when `groups` is null. */
export const toolsOfGroups = (tools: readonly AnyTool[], groups: readonly string[] | null): readonly AnyTool[] =>
  groups === null ? tools : tools.filter(({ group }) => group === undefined || groups.includes(group));
