export { setupAgentTool } from './setup-agent.js';
export { taskTool } from './task.js';
export { taskOutcome } from './task-texts.js';
export { leadTools } from './toolset.js';
export { updateAgentTool } from './update-agent.js';
