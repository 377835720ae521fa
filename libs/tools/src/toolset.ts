import type { AnyTool, SandboxPort } from '@caribou/core';
import { askClarificationTool } from './conversation/ask-clarification.js';
import { bashTool } from './sandbox/bash.js';
import { globTool } from './sandbox/glob.js';
import { grepTool } from './sandbox/grep.js';
import { listUploadedFilesTool } from './conversation/list-uploaded-files.js';
import { lsTool } from './sandbox/ls.js';
import { presentFilesTool } from './conversation/present-files.js';
import { readFileTool } from './sandbox/read-file.js';
import { strReplaceTool } from './sandbox/str-replace.js';
import { viewImageTool } from './sandbox/view-image.js';
import { writeFileTool } from './sandbox/write-file.js';

export interface ToolPorts {
  readonly sandbox: SandboxPort;
}

export interface ToolOptions {
  /** The model reads images. */
  readonly vision: boolean;
  /** The agent may ask the user; true when absent. */
  readonly clarification?: boolean;
  /** Time limit of one command; 10 minutes when absent. */
  readonly commandTimeoutMs?: number;
}

/** The lead agent's tools in the order in which they are sent to the model. */
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
