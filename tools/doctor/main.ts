export { examine } from './examine.js';
export { linesOf } from './finding.js';
