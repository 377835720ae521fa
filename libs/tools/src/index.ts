export { leadTools } from './toolset.js';
