export type Theme = 'system' | 'light' | 'dark';

const ITEM = 'caribou.theme';

export function readTheme(): Theme {
  const stored = localStorage.getItem(ITEM);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

/** Shows the page in a theme and remembers it in this browser. */
export function applyTheme(theme: Theme): void {
  localStorage.setItem(ITEM, theme);
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
