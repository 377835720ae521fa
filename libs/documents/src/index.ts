export {
  type ConversionOptions,
  type DocumentConverter,
  documentConverter,
  type MeasuredConverter,
} from './conversion/document-converter.js';
export { documentKindOf } from './kinds.js';
