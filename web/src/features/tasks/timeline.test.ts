import { describe, expect, it } from 'vitest'
import type { Task, Tick } from '@/api/types'
import { byDay, heldBy, upcoming } from './timeline'

const task = (identifier: string, nextRunAt: string | null, nextFires: string[] = [], nextPlannedAt = nextRunAt) =>
  ({ id: identifier, identifier, nextRunAt, nextPlannedAt, automation: nextFires.length > 0 ? { mode: 'schedule', nextFires } : null }) as Task
const tick = (id: string, plannedAt: string, more: Partial<Tick> = {}) => ({ id, plannedAt, createdAt: plannedAt, state: 'ran', reason: null, topicId: `topic-${id}`, origin: 'schedule', task: 'T-1', count: 1, ...more }) as Tick
const now = Date.parse('2026-03-04T20:00:00Z')

describe('what is coming', () => {
  it('is every known fire of every task, the soonest first, and says where the knowledge ends', () => {
    const tasks = [task('T-1', '2026-03-05T06:00:00Z', ['2026-03-05T06:00:00Z', '2026-03-06T06:00:00Z']), task('T-2', '2026-03-05T08:00:00Z'), task('T-3', null)]
    expect(upcoming(tasks, now).map((e) => [e.task.identifier, e.at, e.last])).toEqual([
      ['T-1', '2026-03-05T06:00:00Z', false],
      ['T-2', '2026-03-05T08:00:00Z', false], // once: nothing goes on
      ['T-1', '2026-03-06T06:00:00Z', true],
    ])
  })

  it('counts a run that jitter puts off once', () => {
    const jittered = task('T-1', '2026-03-05T06:00:30Z', ['2026-03-05T06:00:00Z', '2026-03-06T06:00:00Z'], '2026-03-05T06:00:00Z')
    expect(upcoming([jittered], now).map((e) => e.at)).toEqual(['2026-03-05T06:00:30Z', '2026-03-06T06:00:00Z'])
  })
})

describe('the time line', () => {
  it('falls into days of the viewer’s zone, the newest first', () => {
    const days = byDay(upcoming([task('T-1', '2026-03-04T23:30:00Z')], now), [tick('a', '2026-03-04T06:00:00Z'), tick('b', '2026-03-03T23:30:00Z')], 'Europe/Berlin')
    expect(days.map((d) => [d.day, d.entries.length])).toEqual([['2026-03-05', 1], ['2026-03-04', 2]])
  })

  it('puts a time that was made up for later into its place', () => {
    const days = byDay([], [tick('late', '2026-03-04T06:00:00Z'), tick('on time', '2026-03-04T07:00:00Z')], 'UTC')
    expect(days[0]!.entries.map((e) => e.at)).toEqual(['2026-03-04T07:00:00Z', '2026-03-04T06:00:00Z'])
  })

  it('tells refusals of one task together, never those of two', () => {
    const refused = (id: string, at: string, task: string) => tick(id, at, { task, state: 'skipped', reason: 'paused', topicId: null })
    const days = byDay([], [refused('a', '2026-03-04T06:02:00Z', 'T-1'), refused('b', '2026-03-04T06:01:00Z', 'T-1'), refused('c', '2026-03-04T06:00:00Z', 'T-2')], 'UTC')
    expect(days[0]!.entries.map((e) => (e.kind === 'past' ? e.ticks.length : 0))).toEqual([2, 1])
  })
})

describe('what holds a coming run', () => {
  it.each([
    [{ pausedAt: 'x', maintenanceAt: 'x' }, 'workspace_paused'],
    [{ maintenanceAt: 'x' }, 'maintenance'],
    [{}, 'agent_paused'],
    [undefined, 'agent_paused'],
  ] as const)('%j: %s', (workspace, reason) => expect(heldBy({ assigneeAgent: 'a' }, workspace, new Set(['a']))).toBe(reason))
  it('is nothing otherwise', () => expect(heldBy({ assigneeAgent: 'b' }, {}, new Set(['a']))).toBeUndefined())
})
