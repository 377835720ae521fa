export { webTools } from './web-tools.js';
