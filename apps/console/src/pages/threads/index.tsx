export { ThreadsPage as Component } from './threads-page.js';
