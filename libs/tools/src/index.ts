export { leadTools } from './toolset.js';
export { taskOutcome } from './task-texts.js';
