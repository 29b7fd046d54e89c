package app

import (
	"os"
	"time"
)

// The waits that tests shorten in processes of the real program, of which they
// hold nothing but the environment. They are no configuration: an operator has no
// reason to change one. What is not set or not a duration is the default.
const (
	hurryLease   = "DOGWATCH_TEST_LEASE"   // how soon a dead worker's job is taken over
	hurryVisible = "DOGWATCH_TEST_VISIBLE" // how soon a message that went astray is looked for
	hurrySilence = "DOGWATCH_TEST_SILENCE" // how long a model may say nothing
	hurryRetry   = "DOGWATCH_TEST_RETRY"   // how long a minute is, between the tries of a run
)

// hurried returns the wait that a test asks for, 0 when none does.
func hurried(name string) time.Duration {
	d, err := time.ParseDuration(os.Getenv(name))
	if err != nil {
		return 0
	}
	return max(d, 0)
}
