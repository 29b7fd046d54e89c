// Package turn is the brain of an operation: from its state and what came last
// it says what to do next. It also holds the values that pass between us and a
// model, in one vocabulary for all providers.
package turn
