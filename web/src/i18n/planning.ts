import { useLocale } from '.'
import { planningEn } from './planning.en'
import { planningZhCN } from './planning.zh-CN'

// The words of planning and of the workspace's controls. Only pages that are fetched
// later use them, so they travel with those and not with the first load.
const words = { en: planningEn, 'zh-CN': planningZhCN }

export type Planning = typeof planningEn

export const usePlanning = (): Planning => words[useLocale().lang]
