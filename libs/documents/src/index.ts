export { type ConversionOptions, type DocumentConverter, documentConverter } from './document-converter.js';
export { documentKindOf } from './kinds.js';
