// Names for the generated types: the rest of the dashboard knows these only.
import type { components, paths } from './schema.gen'

export type Schemas = components['schemas']

export type Me = Schemas['Me']
export type Task = Schemas['Task']
export type TaskCreate = Schemas['TaskCreate']
export type TaskPatch = Schemas['TaskPatch']
export type Automation = Schemas['Automation']
export type Tick = Schemas['Tick']
export type Why = Schemas['Why']
export type Fire = Schemas['Fire']
export type Comment = Schemas['Comment']
export type Topic = Schemas['Topic']
export type Handoff = Schemas['Handoff']
export type Operation = Schemas['Operation']
export type Usage = Schemas['Usage']
export type Step = Schemas['Step']
export type Message = Schemas['Message']
export type Brief = Schemas['Brief']
export type BriefAction = Schemas['BriefAction']
export type Document = Schemas['Document']
export type Agent = Schemas['Agent']
export type Workspace = Schemas['Workspace']
export type QuietHours = Schemas['QuietHours']
export type Calendar = Schemas['Calendar']
export type Conditions = Schemas['Conditions']
export type Exclusions = Schemas['Exclusions']
export type DateRange = Schemas['DateRange']
export type Backfill = Schemas['Backfill']
export type Token = Schemas['Token']
export type Actor = Schemas['Actor']
export type Role = Me['role']

/** What a list may be asked for. */
export type Query<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Q } } } ? NonNullable<Q> : never
