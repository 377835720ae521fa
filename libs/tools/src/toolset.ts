import type { AnyTool, SandboxPort } from '@caribou/core';
import { askClarificationTool } from './ask-clarification.js';
import { bashTool } from './bash.js';
import { globTool } from './glob.js';
import { grepTool } from './grep.js';
import { listUploadedFilesTool } from './list-uploaded-files.js';
import { lsTool } from './ls.js';
import { presentFilesTool } from './present-files.js';
import { readFileTool } from './read-file.js';
import { strReplaceTool } from './str-replace.js';
import { viewImageTool } from './view-image.js';
import { writeFileTool } from './write-file.js';

export interface ToolPorts {
  readonly sandbox: SandboxPort;
}

export interface ToolOptions {
  /** The model reads images. */
  readonly vision: boolean;
  /** The agent may ask the person; true when absent. */
  readonly clarification?: boolean;
  /** Longest run of one command; 10 minutes when absent. */
  readonly commandTimeoutMs?: number;
}

/** The lead agent's tools in the order the model is told of them. */
export function leadTools(
  { sandbox }: ToolPorts,
  { vision, clarification = true, commandTimeoutMs }: ToolOptions = { vision: false },
): readonly AnyTool[] {
  return [
    lsTool(sandbox),
    globTool(sandbox),
    grepTool(sandbox),
    readFileTool(sandbox),
    writeFileTool(sandbox),
    strReplaceTool(sandbox),
    bashTool(sandbox, commandTimeoutMs),
    listUploadedFilesTool(sandbox),
    presentFilesTool(sandbox),
    ...(clarification ? [askClarificationTool()] : []),
    ...(vision ? [viewImageTool(sandbox)] : []),
  ];
}
