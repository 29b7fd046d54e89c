import { Component, type ReactNode } from 'react'

/** Catches what breaks while drawing, so that a person sees more than an empty page. */
export class Boundary extends Component<{ fallback: ReactNode; children: ReactNode }, { broken: boolean }> {
  override state = { broken: false }
  static getDerivedStateFromError() {
    return { broken: true }
  }
  override render() {
    return this.state.broken ? this.props.fallback : this.props.children
  }
}
