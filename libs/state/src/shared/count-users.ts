/** How many entries of a queue a user has. */
export interface UserCount {
  readonly userId: string;
  readonly waiting: number;
}

/** How many users are shown. */
const MAX_USERS = 20;

/** The users with the most entries, the most first; of equal ones by id. */
export function countUsers(userIds: readonly string[]): readonly UserCount[] {
  const counts = new Map<string, number>();
  for (const userId of userIds) counts.set(userId, (counts.get(userId) ?? 0) + 1);
  return [...counts]
    .map(([userId, waiting]) => ({ userId, waiting }))
    .sort((left, right) => right.waiting - left.waiting || left.userId.localeCompare(right.userId))
    .slice(0, MAX_USERS);
}
