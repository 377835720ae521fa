import { z } from 'zod';
import { addIssues, type Findings } from '../common/findings.js';
import type { ToolsConfig } from '../settings/config.js';

/** Default groups of the built-in tools. */
export const BUILT_IN_GROUPS: readonly string[] = ['file:read', 'file:write', 'bash', 'web'];

export const GroupName = z.string().min(1).max(100);

const ToolGroups = z
  .array(z.looseObject({ name: GroupName }))
  .max(100)
  .nullish();

/** Returns the names that `tool_groups` declares; none when it is invalid. */
export function readDeclaredGroups(value: unknown, findings: Findings): readonly string[] {
  const parsed = ToolGroups.safeParse(value);
  if (parsed.success) return (parsed.data ?? []).map(({ name }) => name);
  addIssues(findings, 'tool_groups', parsed.error);
  return [];
}

/** Lists every group that an agent may be limited to, without duplicates. */
export function allGroups(
  declared: readonly string[],
  { groups, custom }: Pick<ToolsConfig, 'groups' | 'custom'>,
): readonly string[] {
  const ofCustom = custom.flatMap(({ group }) => (group === undefined ? [] : [group]));
  return [...new Set([...BUILT_IN_GROUPS, ...declared, ...Object.values(groups), ...ofCustom])].sort();
}
