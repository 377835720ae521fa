import type { SkillInstallReply, skillRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';
import { request } from '../../../api/request.js';

const listSkills = endpoint<typeof skillRoutes.list>('GET', '/skills');
export const setSkill = endpoint<typeof skillRoutes.set>('PUT', '/skills/:name');
export const removeSkill = endpoint<typeof skillRoutes.remove>('DELETE', '/skills/:name');

export type Skill = Awaited<ReturnType<typeof listSkills>>['skills'][number];

export const SKILLS = ['skills'] as const;

export const useSkills = () => useQuery({ queryKey: [...SKILLS], queryFn: ({ signal }) => listSkills({ signal }) });

/** Time for a large archive over a slow line, in milliseconds. */
const UPLOAD_MS = 600_000;

/** Installs the skill of an archive. @throws {ApiError} */
export async function uploadSkill(archive: File): Promise<SkillInstallReply> {
  const body = new FormData();
  body.append('file', archive, archive.name);
  const answer = await request('api/skills/upload', { method: 'POST', body, timeoutMs: UPLOAD_MS });
  return (await answer.json()) as SkillInstallReply;
}
