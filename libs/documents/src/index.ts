export { type ConversionOptions, type DocumentConverter, documentConverter } from './conversion/document-converter.js';
export { documentKindOf } from './kinds.js';
