// Package job lists all the work that is done in the background. Read it to know
// everything that can happen while nobody is looking; docs/jobs.md has the
// contract that each of them is carried out under.
//
// A job says what happened or what to do next, and carries ids, not copies:
// whoever takes it re-reads the truth first. Every job may arrive twice, late, or
// never (then it is posted again).
package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Queue is a class of work. Each has worker slots of its own, so that slow model
// calls never starve ticks.
type Queue string

const (
	Fast         Queue = "fast"         // ticks: somebody was promised a time, so nothing goes before them
	Effects      Queue = "effects"      // what follows from the end of a run or from an order: a few statements each
	Operations   Queue = "operations"   // model calls and tools: seconds to minutes
	Housekeeping Queue = "housekeeping" // what nobody waits for

	// Suspect is the lane of jobs that were lost SuspectAfter times: one slot per
	// process, so that a job that takes its process down takes no innocents along.
	Suspect Queue = "suspect"
)

// Queues lists the classes.
var Queues = []Queue{Fast, Effects, Operations, Housekeeping}

// A job is lost when its lease ends before its handler does: the process was
// killed, or stood still.
const (
	SuspectAfter = 3 // losses until it is run alone
	PoisonAfter  = 6 // losses until it is given up, at its next claim
)

// Kind is one kind of job.
type Kind struct {
	Name        string // stable: renaming one strands the rows already written
	Queue       Queue
	MaxAttempts int           // failed tries until it is dead
	Limit       time.Duration // of one try; past it the handler is cancelled
}

// ByName returns the kind of that name, and whether there is one: a row may have
// been written by a version that knows more kinds.
func ByName(name string) (Kind, bool) {
	for _, k := range Kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Stoppable reports whether a person who stops the operation cancels the job as
// well. Only what the operation itself does is cancelled; what follows from its
// end is not.
func (k Kind) Stoppable() bool { return k.Name == Step.Name }

// The kinds, each with what its key is. There is one open row per kind and key.
var (
	// Tick: it is time for a task; flow/launch re-reads and runs it or says why
	// not. Key: the tick.
	Tick = Kind{"tick", Fast, 100, time.Minute}
	// Step: the next step of an operation; flow/engine. Key: the operation. Its
	// attempts are those of one step: a committed step starts the count anew. The
	// limit is above the silence limit of a model plus a slow answer.
	Step = Kind{"step", Operations, 6, 20 * time.Minute}
	// Settle: an operation has ended; flow/settle draws the consequences. Key: the topic.
	Settle = Kind{"settle", Effects, 100, time.Minute}
	// Handoff: write what a settled topic leaves for the next; flow/settle. Key: the topic.
	Handoff = Kind{"handoff", Operations, 3, 10 * time.Minute}
	// Unlock: a task has ended; start what waited only for it; flow/launch. Key: the task.
	Unlock = Kind{"unlock", Effects, 100, time.Minute}
	// Stop: a person stopped a workspace; flow/steer interrupts what runs in it, each
	// run under its task's lock. Key: the workspace.
	Stop = Kind{"stop", Effects, 100, 5 * time.Minute}
	// Backfill: make up for the next planned time of a task; flow/launch. Key: the
	// task. The end of each of its runs posts it again.
	Backfill = Kind{"backfill", Effects, 100, time.Minute}
	// Bulk: go on with an order for many tasks that nobody carries out any more;
	// flow/steer, each task under its own lock. Key: the order.
	Bulk = Kind{"bulk", Effects, 100, 5 * time.Minute}
	// Reconcile: prove the invariants and repair what breaks them; flow/tick.
	// Key: "all"; it posts itself anew.
	Reconcile = Kind{"reconcile", Housekeeping, 1000, 5 * time.Minute}
	// Retention: delete in batches what is past its time; flow/tick. Key: "all"; it
	// posts itself anew.
	Retention = Kind{"retention", Housekeeping, 1000, 10 * time.Minute}
)

// Kinds lists every kind.
var Kinds = []Kind{Tick, Step, Settle, Handoff, Unlock, Stop, Backfill, Bulk, Reconcile, Retention}

// IDs is the body of a job. It never changes after the post.
type IDs struct {
	Workspace string `json:"workspace,omitempty"`
	Task      string `json:"task,omitempty"`
	Tick      string `json:"tick,omitempty"`
	Topic     string `json:"topic,omitempty"`
	Operation string `json:"operation,omitempty"`
}

// Post asks for a job.
type Post struct {
	Kind  Kind
	Key   string
	IDs   IDs
	Delay time.Duration // from the database's now
}

// Sent is a job on its way to a worker: the number of the delivery tells a late
// message from the current one.
type Sent struct {
	ID       int64
	Delivery int
	Queue    Queue
	Late     time.Duration // how long it had been due when the relay took it
}

// String is the name under which the message travels: new for each delivery, so
// that no leftover of an earlier one stands in its way.
func (s Sent) String() string { return fmt.Sprintf("%d:%d", s.ID, s.Delivery) }

// ParseSent reads what String wrote. The queue is the one the message came from.
func ParseSent(s string, q Queue) (Sent, error) {
	id, delivery, ok := strings.Cut(s, ":")
	n, err := strconv.ParseInt(id, 10, 64)
	d, err2 := strconv.Atoi(delivery)
	if !ok || err != nil || err2 != nil || n <= 0 || d <= 0 {
		return Sent{}, fmt.Errorf("%q does not name a delivery of a job", s)
	}
	return Sent{ID: n, Delivery: d, Queue: q}, nil
}

// Allowance is how many jobs of a queue a worker may have on their way to it.
type Allowance struct {
	Queue Queue
	Jobs  int
}

// Depth is how many jobs of a queue are in a state, and since when the oldest
// of them is due.
type Depth struct {
	Queue  Queue
	State  string
	Jobs   int
	Oldest time.Time
}

// Dead is a job that was given up, for the queue page.
type Dead struct {
	ID        int64
	Kind      string
	Key       string
	IDs       IDs
	Attempt   int
	Losses    int
	LastError string
	CreatedAt time.Time
	ClosedAt  time.Time
}

// Claim is a job that a worker holds under a lease. ID and Token are the fence of
// every write that it makes.
type Claim struct {
	ID       int64
	Token    int
	Delivery int
	Kind     string
	Queue    Queue
	Key      string
	IDs      IDs
	Attempt  int // failed tries so far
	Losses   int // leases that ran out so far

	Lease time.Duration // how long each renewal holds; the time-out of the effects too
	Late  time.Duration // from the time it was due until it was claimed
}

// Poison reports whether the job was lost so often that it is given up.
func (c Claim) Poison() bool { return c.Losses >= PoisonAfter }

// Home is the class that the job belongs to when it is no longer suspect.
func (c Claim) Home() Queue {
	if k, ok := ByName(c.Kind); ok {
		return k.Queue
	}
	return c.Queue
}
