import { Store } from '../api/store.js';

export interface Shortcut {
  /** Keys that are pressed one after the other, as `KeyboardEvent.key` names them. */
  readonly keys: readonly string[];
  /** What it does, for the list. */
  readonly about: string;
  readonly run: () => void;
}

/** Time between two keys of one shortcut, in milliseconds. */
const SEQUENCE_MS = 1_500;

/** The shortcuts of the frame and of the page that is shown. */
export class Shortcuts {
  readonly list = new Store<readonly Shortcut[]>([]);
  /** Whether they work. A person who dictates, or types with a switch, turns them off (WCAG 2.1.4). */
  readonly areOn = new Store(true);
  private pressed: readonly string[] = [];
  private pressedMs = 0;

  /** @returns a function that removes it */
  add(shortcut: Shortcut): () => void {
    this.list.write([...this.list.read(), shortcut]);
    return () => this.list.write(this.list.read().filter((each) => each !== shortcut));
  }

  /**
   * A key that was pressed while no text is entered.
   *
   * @returns whether it belongs to a shortcut; the one that is complete has been run
   */
  press(key: string, nowMs: number): boolean {
    if (!this.areOn.read()) return false;
    const earlier = nowMs - this.pressedMs > SEQUENCE_MS ? [] : this.pressed;
    const [pressed, possible] = this.longestOf([...earlier, key]);
    this.pressed = pressed;
    this.pressedMs = nowMs;
    // The page that is shown was added last.
    const complete = possible.findLast(({ keys }) => keys.length === pressed.length);
    if (complete !== undefined) {
      this.pressed = [];
      complete.run();
    }
    return possible.length > 0;
  }

  /** The keys from the first one on with which a shortcut begins. */
  private longestOf(keys: readonly string[]): readonly [readonly string[], readonly Shortcut[]] {
    for (let from = 0; from < keys.length; from += 1) {
      const tried = keys.slice(from);
      const possible = this.list.read().filter((shortcut) => tried.every((key, at) => shortcut.keys[at] === key));
      if (possible.length > 0) return [tried, possible];
    }
    return [[], []];
  }
}

export const shortcuts = new Shortcuts();
