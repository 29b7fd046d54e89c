import { describe, expect, it } from 'vitest'
import { Deltas } from './deltas'
import { idempotency } from './idempotency'
import { given } from './paging'
import { problemOf } from './problem'
import { type Message, parser } from './sse'
import { staleBy, touches } from './staleness'
import type { StreamEvent } from './stream'

const event = (type: string, subject: StreamEvent['subject'], payload: Record<string, unknown> = {}): StreamEvent => ({ id: '1', type, at: '2026-01-01T00:00:00.000Z', subject, payload })

describe('the parser of event streams', () => {
  const parse = (...chunks: string[]) => {
    const got: Message[] = []
    const feed = parser((m) => got.push(m))
    chunks.forEach(feed)
    return got
  }
  const whole = 'id: 7\nevent: reset\ndata: {"a":1}\n\n: ping\n\ndata: x\ndata:y\n\n'
  const both = [{ event: 'reset', data: '{"a":1}', id: '7' }, { event: 'message', data: 'x\ny', id: undefined }]

  it('reads messages and drops pings', () => expect(parse(whole)).toEqual(both))
  it('does not mind where the chunks are cut', () => {
    for (let i = 0; i <= whole.length; i++) expect(parse(whole.slice(0, i), whole.slice(i)), `cut at ${i}`).toEqual(both)
    expect(parse(...whole)).toEqual(both)
  })
  it('takes any line end', () => {
    const crlf = whole.replaceAll('\n', '\r\n')
    for (let i = 0; i <= crlf.length; i++) expect(parse(crlf.slice(0, i), crlf.slice(i)), `cut at ${i}`).toEqual(both)
  })
  it('waits for the empty line', () => expect(parse('data: half\n')).toEqual([]))
  it('an id may come alone', () => expect(parse('retry: 1000\nid: 7\n\n')).toEqual([{ event: 'message', data: '', id: '7' }]))
  it('an id may not hold a NUL', () => expect(parse('id: a\0b\ndata: x\n\n')[0]!.id).toBeUndefined())
})

describe('what an event makes stale', () => {
  const id = '01900000-0000-7000-8000-000000000001'
  const idOf = (kind: string, ref: string) => (kind === 'task' && ref === 'T-1' ? id : kind === 'task' && ref === 'T-2' ? 'other' : undefined)
  const stale = (e: StreamEvent, key: readonly unknown[]) => {
    const all = staleBy(e)
    return all === null || all.some((s) => touches(s, key, idOf))
  }
  it.each([
    ['a task, its own page', 'task.changed', { kind: 'task', id }, {}, ['task', 'T-1'], true],
    ['… and what hangs on it', 'task.changed', { kind: 'task', id }, {}, ['task', 'T-1', 'why'], true],
    ['… not its comments', 'task.changed', { kind: 'task', id }, {}, ['task', 'T-1', 'comments'], false],
    ['… unless it is about one', 'task.changed', { kind: 'task', id }, { commentId: 'c' }, ['task', 'T-1', 'comments'], true],
    ['… or a document', 'task.changed', { kind: 'task', id }, { documentId: 'd' }, ['task', 'T-1', 'documents'], true],
    ['… not another one’s page', 'task.changed', { kind: 'task', id }, {}, ['task', 'T-2'], false],
    ['… the page of one not fetched yet', 'task.changed', { kind: 'task', id }, {}, ['task', 'T-3'], true],
    ['… the lists', 'task.created', { kind: 'task', id }, {}, ['tasks', { status: 'paused' }], true],
    ['… no brief', 'task.changed', { kind: 'task', id }, {}, ['briefs', {}], false],
    ['a tick, the ledger of its task', 'tick.changed', { kind: 'tick', id: 'x' }, { taskId: id }, ['task', 'T-1', 'ticks'], true],
    ['… not of another', 'tick.changed', { kind: 'tick', id: 'x' }, { taskId: id }, ['task', 'T-2', 'ticks'], false],
    ['… of every open one when it does not say', 'tick.changed', { kind: 'tick', id: 'x' }, {}, ['task', 'T-2', 'ticks'], true],
    ['a topic, its page', 'topic.ended', { kind: 'topic', id: 'x' }, { taskId: id }, ['topic', 'x', 'conversation'], true],
    ['a step, its operation', 'step.added', { kind: 'operation', id: 'op' }, { operationId: 'op', topicId: 'x' }, ['operation', 'op', 'steps'], true],
    ['… not another', 'step.added', { kind: 'operation', id: 'op' }, { operationId: 'op', topicId: 'x' }, ['operation', 'op2', 'steps'], false],
    ['streamed text, nothing', 'step.delta', { kind: 'operation', id: 'op' }, {}, ['operation', 'op', 'steps'], false],
    ['a brief, the inbox', 'brief.opened', { kind: 'brief', id: 'b' }, {}, ['briefs', { state: 'unresolved' }], true],
    ['a calendar, the list of them', 'calendar.changed', { kind: 'calendar', id: 'c' }, {}, ['calendars'], true],
    ['… and nothing else', 'calendar.changed', { kind: 'calendar', id: 'c' }, {}, ['tasks', {}], false],
    ['the workspace, everything', 'workspace.changed', { kind: 'workspace', id: 'w' }, {}, ['agents'], true],
    ['a kind of a newer server, everything', 'weather.changed', { kind: 'weather', id: 'w' }, {}, ['tasks', {}], true],
    ['the queue, nothing yet', 'queue.changed', { kind: 'queue', id: 'q' }, {}, ['tasks', {}], false],
  ])('%s', (_, type, subject, payload, key, expected) => expect(stale(event(type, subject, payload), key)).toBe(expected))
})

describe('text that streams in', () => {
  const delta = (seq: number, text: string) => event('step.delta', { kind: 'operation', id: 'op' }, { operationId: 'op', seq, text })
  it('grows within a step and starts anew with the next', () => {
    const d = new Deltas()
    d.take(delta(1, 'Hel'))
    d.take(delta(1, 'lo'))
    expect(d.get('op')).toMatchObject({ step: 1, text: 'Hello' })
    d.take(delta(2, 'Next'))
    expect(d.get('op')).toMatchObject({ step: 2, text: 'Next' })
  })
  it('of an earlier step is late and dropped', () => {
    const d = new Deltas()
    d.take(delta(2, 'two'))
    d.take(delta(1, 'one'))
    expect(d.get('op')).toMatchObject({ step: 2, text: 'two' })
  })
  it('goes when the step is recorded, not when an earlier one is', () => {
    const d = new Deltas()
    d.take(delta(2, 'two'))
    d.take(event('step.added', { kind: 'operation', id: 'op' }, { operationId: 'op', seq: 1 }))
    expect(d.get('op')).toBeDefined()
    d.take(event('step.added', { kind: 'operation', id: 'op' }, { operationId: 'op', seq: 2 }))
    expect(d.get('op')).toBeUndefined()
  })
})

describe('keys of POSTs', () => {
  let n = 0
  const keys = () => idempotency(() => `key-${++n}`)
  it('the same call keeps its key until it is answered', () => {
    const k = keys()
    const first = k.of('run T-1')
    expect(k.of('run T-1')).toBe(first)
    expect(k.of('run T-2')).not.toBe(first)
    k.answered('run T-1')
    expect(k.of('run T-1')).not.toBe(first)
  })
})

describe('problems', () => {
  const answer = (status: number, headers: Record<string, string> = {}) => new Response(null, { status, headers })
  it('find what is wrong with a field', async () => {
    const p = await problemOf(answer(422), { code: 'invalid_pattern', detail: 'No.', errors: [{ location: 'body.automation.pattern', message: 'five fields' }] })
    expect(p.field('automation')).toBe('five fields')
    expect(p.field('auto')).toBeUndefined()
    expect(p.covers(['name'])).toBe(false)
  })
  it('survive an answer without a body', async () => {
    const p = await problemOf(answer(502))
    expect([p.status, p.code]).toEqual([502, 'http_502'])
  })
  it('know how long to wait', async () => expect((await problemOf(answer(429, { 'Retry-After': '12' }))).retryAfterSeconds).toBe(12))
})

it('filters that are not set are not sent', () => expect(given({ a: '', b: undefined, c: 0, d: 'x' })).toEqual({ c: 0, d: 'x' }))
