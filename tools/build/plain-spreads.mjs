import { parse } from 'acorn';
import { full } from 'acorn-walk';

/**
 * V8 before version 12 (Node 20) makes a hidden class of its own for each object that a literal such as `{ ...other, more: 1 }`
 * returns, where `other` had few shapes before: that takes 2 µs instead of 0.1, and all code that reads such an object becomes
 * slow, as it meets a new class every time. A literal that begins with anything else is not affected.
 */
const V8_COPIES_SLOWLY = Number.parseInt(process.versions.v8, 10) < 12;

/** What a literal begins with instead: copies nothing. */
const NOTHING = '...null,';
const mayBegin = /\{\s*\.\.\./;

/**
 * The same code, in which no object literal with further properties begins with a spread. Packages are left as they are: few of their
 * literals are part of a turn.
 *
 * @param {string} code of an ES module
 * @param {boolean} [copiesSlowly] whether the V8 that runs it needs that; default: this one
 * @returns {string}
 * @throws {SyntaxError} when the code is no module
 */
export function plainSpreads(code, copiesSlowly = V8_COPIES_SLOWLY) {
  if (!copiesSlowly || !mayBegin.test(code)) return code;
  /** @type {number[]} */
  const starts = [];
  full(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), (node) => {
    if (node.type !== 'ObjectExpression') return;
    const { properties } = /** @type {import('acorn').ObjectExpression} */ (node);
    if (properties.length > 1 && properties[0]?.type === 'SpreadElement') starts.push(node.start + 1);
  });
  starts.sort((one, other) => one - other);
  const parts = [0, ...starts].map((start, at) => code.slice(start, starts[at] ?? code.length));
  return parts.join(NOTHING);
}
