import type { EventFilter } from '@caribou/contracts';
import type { ProjectedEvent } from './projected-event.js';

export type Filter = Pick<EventFilter, 'channels' | 'namespaces' | 'depth'>;

/** Whether a stream or subscription delivers the event; clients judge the events that they receive by the same rules. */
export function isDelivered({ channel, namespace }: ProjectedEvent, filter: Filter): boolean {
  const { channels, namespaces, depth } = filter;
  if (!channels.includes(channel) && !(channel.startsWith('custom:') && channels.includes('custom'))) return false;
  if (namespaces === undefined || namespaces === null || namespaces.length === 0) return true;
  return namespaces.some((prefix) => {
    if (!isPrefix(prefix, namespace)) return false;
    return depth === undefined || depth === null || namespace.length - prefix.length <= depth;
  });
}

/** Segments are equal literally, or a prefix without `:` names the part of the segment before its `:`. */
function isPrefix(prefix: readonly string[], namespace: readonly string[]): boolean {
  if (prefix.length > namespace.length) return false;
  return prefix.every((segment, index) => {
    const candidate = namespace[index] ?? '';
    return candidate === segment || (!segment.includes(':') && candidate.split(':', 1)[0] === segment);
  });
}
