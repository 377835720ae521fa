import { Store } from '../api/store.js';
import { readPreference, writePreference } from './preferences.js';

export type Theme = 'system' | 'light' | 'dark';

export const themes: readonly Theme[] = ['system', 'light', 'dark'];

/** The theme of the page; change it with `chooseTheme`. */
export const theme = new Store<Theme>('system');

/** Shows the page in the theme that this browser remembers. */
export function applyStoredTheme(): void {
  const stored = readPreference('theme');
  show(themes.find((each) => each === stored) ?? 'system');
}

/** Shows the page in a theme and remembers it in this browser. */
export function chooseTheme(chosen: Theme): void {
  writePreference('theme', chosen === 'system' ? null : chosen);
  show(chosen);
}

function show(chosen: Theme): void {
  theme.write(chosen);
  if (chosen === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
}
