// Package job lists all the work that is done in the background. Read it to know
// everything that can happen while nobody is looking; docs/jobs.md has the
// contract that each of them is carried out under.
//
// A job says what happened or what to do next, and carries ids, not copies:
// whoever takes it re-reads the truth first. Every job may arrive twice, late, or
// never (then it is posted again).
package job

import "time"

// Queue is a class of work. Each has worker slots of its own, so that slow model
// calls never starve ticks.
type Queue string

const (
	Fast         Queue = "fast"         // ticks and settling: a few statements each
	Operations   Queue = "operations"   // model calls and tools: seconds to minutes
	Housekeeping Queue = "housekeeping" // what nobody waits for
)

// Queues lists the classes.
var Queues = []Queue{Fast, Operations, Housekeeping}

// Kind is one kind of job.
type Kind struct {
	Name        string // stable: renaming one strands the rows already written
	Queue       Queue
	MaxAttempts int           // failed tries until it is dead
	Limit       time.Duration // of one try; past it the handler is cancelled
}

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
	Settle = Kind{"settle", Fast, 100, time.Minute}
	// Handoff: write what a settled topic leaves for the next; flow/settle. Key: the topic.
	Handoff = Kind{"handoff", Operations, 3, 10 * time.Minute}
	// Reconcile: prove the invariants and repair what breaks them; flow/tick.
	// Key: "all"; it posts itself anew.
	Reconcile = Kind{"reconcile", Housekeeping, 1000, 5 * time.Minute}
	// Retention: delete in batches what is past its time; flow/tick. Key: "all"; it
	// posts itself anew.
	Retention = Kind{"retention", Housekeeping, 1000, 10 * time.Minute}
)

// Kinds lists every kind.
var Kinds = []Kind{Tick, Step, Settle, Handoff, Reconcile, Retention}

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
	Losses   int
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
}
