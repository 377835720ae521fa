/**
 * Members that come and go all the time, such as open streams, in the order of their slots.
 *
 * It replaces a `Set`. V8 links the table that a `Set` or `Map` has outgrown to the next one, with its members of that time, and
 * collects young objects without looking whether an older table is alive: once one of these tables is among the old objects, all later
 * ones, and with them all members and what these refer to, stay in memory until the next full collection.
 */
export class SlotSet<Member extends object> implements Iterable<Member> {
  private readonly slots: (Member | undefined)[] = [];
  private readonly free: number[] = [];

  get size(): number {
    return this.slots.length - this.free.length;
  }

  /** @returns a function that removes the member; calls after the first have no effect */
  add(member: Member): () => void {
    const slot = this.free.pop() ?? this.slots.length;
    this.slots[slot] = member;
    let isMember = true;
    return () => {
      if (!isMember) return;
      isMember = false;
      this.slots[slot] = undefined;
      this.free.push(slot);
    };
  }

  /** The members of now. */
  *[Symbol.iterator](): Generator<Member, void, undefined> {
    for (const member of [...this.slots]) if (member !== undefined) yield member;
  }
}

/** The same with a key for each member: it replaces a `Map` from strings. */
export class SlotMap<Value extends object> {
  private readonly slotOf = new Map<string, number>();
  private readonly slots: (Value | undefined)[] = [];
  private readonly free: number[] = [];

  get size(): number {
    return this.slotOf.size;
  }

  get(key: string): Value | undefined {
    const slot = this.slotOf.get(key);
    return slot === undefined ? undefined : this.slots[slot];
  }

  set(key: string, value: Value): void {
    const slot = this.slotOf.get(key) ?? this.free.pop() ?? this.slots.length;
    this.slotOf.set(key, slot);
    this.slots[slot] = value;
  }

  delete(key: string): void {
    const slot = this.slotOf.get(key);
    if (slot === undefined) return;
    this.slotOf.delete(key);
    this.slots[slot] = undefined;
    this.free.push(slot);
  }

  /** The values of now. */
  *values(): Generator<Value, void, undefined> {
    for (const value of [...this.slots]) if (value !== undefined) yield value;
  }
}
