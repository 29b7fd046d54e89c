const n = (count: number, one: string, many: string) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`

/** The English words of planning; every other language must fill their type. */
export const planningEn = {
  timeline: {
    upcoming: 'Planned',
    anyState: 'Any outcome',
    anyReason: 'Any reason',
    filterState: 'Outcome',
    filterReason: 'Reason',
    filterTask: 'Task',
    taskPlaceholder: 'T-12',
    now: 'Now',
    later: (count: number) => `Show ${n(count, 'later time', 'later times')}`,
    goesOn: (sentence: string) => `and so on: ${sentence}`,
    held: 'would not run as things are',
    emptyTitle: 'No planned times yet',
    emptyHint: 'A task with a schedule shows here when it comes, and afterwards what came of it.',
    emptyFiltered: 'No time matches these filters.',
  },
}
