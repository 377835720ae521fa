export { ConsoleFiles, type ConsoleFile, type Encoding } from './console-files.js';
export { type ViewerFile, ViewerFiles } from './viewer-files.js';
