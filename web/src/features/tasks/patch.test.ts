import { describe, expect, it } from 'vitest'
import type { Task } from '@/api/types'
import { changed, collides } from './patch'

const task = (part: Partial<Task> = {}) =>
  ({ name: 'a', instruction: 'do', labels: ['x'], priority: 'none', automation: { mode: 'heartbeat', intervalSeconds: 60, nextFires: ['2026-01-01T00:00:00Z'] }, startAt: null, config: {}, status: 'scheduled', version: 1, ...part }) as Task

describe('an edit', () => {
  it('sends only what it changed', () => {
    expect(changed(task(), { name: 'b', instruction: 'do', labels: ['x'], automation: { intervalSeconds: 60, mode: 'heartbeat' }, startAt: null, config: { budget: undefined } })).toEqual({ name: 'b' })
  })
  it('can clear', () => expect(changed(task(), { automation: null })).toEqual({ automation: null }))

  it.each([
    ['goes on top of a run', { status: 'running', version: 2 }, false],
    ['goes on top of a new next fire', { automation: { mode: 'heartbeat', intervalSeconds: 60, nextFires: ['2026-01-02T00:00:00Z'] } }, false],
    ['goes on top of another field', { priority: 'high' }, false],
    ['does not undo the same field', { name: 'theirs' }, true],
  ] as [string, Partial<Task>, boolean][])('%s', (_, since, expected) => expect(collides({ name: 'mine', automation: null }, task(), task(since))).toBe(expected))
})
