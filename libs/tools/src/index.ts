export { setupAgentTool } from './agents/setup-agent.js';
export { taskTool } from './agents/task.js';
export { taskOutcome } from './agents/task-texts.js';
export { stopScheduledTaskTool } from './agents/stop-scheduled-task.js';
export { leadTools } from './toolset.js';
export { updateAgentTool } from './agents/update-agent.js';
