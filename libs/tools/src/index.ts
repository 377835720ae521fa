export { askClarificationTool } from './ask-clarification.js';
export { bashTool } from './bash.js';
export { readFileTool } from './read-file.js';
export { leadTools, type ToolPorts } from './toolset.js';
export { writeFileTool } from './write-file.js';
