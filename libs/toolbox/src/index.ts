export { connectToolbox } from './connect-toolbox.js';
