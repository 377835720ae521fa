import type { AnyTool, SandboxPort } from '@caribou/core';
import { askClarificationTool } from './ask-clarification.js';
import { bashTool } from './bash.js';
import { readFileTool } from './read-file.js';
import { writeFileTool } from './write-file.js';

export interface ToolPorts {
  readonly sandbox: SandboxPort;
}

/** The lead agent's tools in the order the model is told of them. */
export function leadTools({ sandbox }: ToolPorts): readonly AnyTool[] {
  return [readFileTool(sandbox), writeFileTool(sandbox), bashTool(sandbox), askClarificationTool()];
}
