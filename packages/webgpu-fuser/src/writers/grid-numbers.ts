/** The number of a workgroup, where a grid may be too wide for one dimension and goes on in rows (`wide`). */
export const groupNumber = (wide: boolean): string => (wide ? '(group.x + group.y * groups.x)' : 'group.x');

/** The number of a thread among all, of workgroups of that size. */
export const threadNumber = (workgroupSize: number, wide: boolean): string =>
  wide ? `thread.x + thread.y * (groups.x * ${workgroupSize}u)` : 'thread.x';
