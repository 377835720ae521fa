import { useEffect } from 'react';
import { readPreference, writePreference } from './preferences.js';
import { type Shortcut, shortcuts } from './shortcuts.js';

/** Offers shortcuts while the component is shown. The list must be the same object as long as nothing in it changes. */
export function useShortcuts(offered: readonly Shortcut[]): void {
  useEffect(() => {
    const removals = offered.map((shortcut) => shortcuts.add(shortcut));
    return () => {
      for (const remove of removals) remove();
    };
  }, [offered]);
}

/** Turns all shortcuts on or off and remembers it in this browser. */
export function turnShortcuts(on: boolean): void {
  writePreference('shortcuts', on ? null : 'off');
  shortcuts.areOn.write(on);
}

/** Runs shortcuts for the keys that are pressed. Call it once, in the frame. */
export function useShortcutKeys(): void {
  useEffect(() => {
    shortcuts.areOn.write(readPreference('shortcuts') !== 'off');
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (isForText(event.target) || document.querySelector('[role=dialog], [role=alertdialog], [role=menu]') !== null)
        return;
      if (shortcuts.press(event.key, event.timeStamp)) event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

const isForText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest('input, textarea, select, [role=textbox], [role=listbox]') !== null);
