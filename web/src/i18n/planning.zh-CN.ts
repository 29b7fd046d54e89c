import type { Planning } from './planning'

const n = (count: number, word: string) => `${count.toLocaleString('zh-CN')} ${word}`

export const planningZhCN: Planning = {
  timeline: {
    upcoming: '已计划',
    anyState: '任何结果',
    anyReason: '任何原因',
    filterState: '结果',
    filterReason: '原因',
    filterTask: '任务',
    taskPlaceholder: '例如 T-12',
    now: '现在',
    later: (count) => `显示之后的 ${n(count, '个时间')}`,
    goesOn: (sentence) => `此后继续：${sentence}`,
    held: '按目前情况不会运行',
    emptyTitle: '还没有计划时间',
    emptyHint: '有日程的任务到来之前会显示在这里，之后则显示结果。',
    emptyFiltered: '没有符合这些筛选条件的时间。',
  },
}
