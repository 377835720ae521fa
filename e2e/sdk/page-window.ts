import { JSDOM } from 'jsdom';

/**
 * A browser window around Node's own fetch: React and the SDK's hook find it in the globals. Must be imported before
 * React DOM, which needs a window when it is loaded.
 */
export const page = new JSDOM('<!doctype html><body></body>', { url: 'http://caribou.test/', pretendToBeVisual: true });

const { window } = page;
const globals = {
  window,
  document: window.document,
  navigator: window.navigator,
  HTMLElement: window.HTMLElement,
  HTMLIFrameElement: window.HTMLIFrameElement,
  Node: window.Node,
  MutationObserver: window.MutationObserver,
  getComputedStyle: window.getComputedStyle.bind(window),
};
// Some of them are getters in newer Node versions, which an assignment would not replace.
for (const [name, value] of Object.entries(globals))
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
