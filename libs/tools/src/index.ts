export { taskTool } from './task.js';
export { taskOutcome } from './task-texts.js';
export { leadTools } from './toolset.js';
