export { type ViewerFile, ViewerFiles } from './viewer-files.js';
