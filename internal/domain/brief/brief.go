// Package brief says when to tell a person, what, and with which buttons; and
// what a button does.
package brief

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// Type is why a brief was written.
type Type string

const (
	Decision Type = "decision" // a person has to choose
	Result   Type = "result"   // work to accept, or to know of
	Insight  Type = "insight"  // worth knowing
	Error    Type = "error"    // something went wrong
)

// Types lists all of them.
var Types = []Type{Decision, Result, Insight, Error}

// Priority is how soon a person should look.
type Priority string

const (
	Urgent Priority = "urgent"
	Normal Priority = "normal"
	Info   Priority = "info"
)

// Rank orders priorities: the most urgent first.
func (p Priority) Rank() int { return slices.Index([]Priority{Urgent, Normal, Info}, p) }

// Causes: the thing that a brief is about. There is one open brief per task and cause.
const (
	CauseRunFailed  = "run_failed"
	CauseFuse       = "fuse"
	CauseResult     = "result"
	CauseLimit      = "max_steps"
	CauseBudget     = "budget"
	CauseCheckpoint = "checkpoint"
	CauseMissed     = "missed"
	CauseNoProgress = "no_progress"
	CauseSkips      = "skips"
	CauseSpending   = "spending"
	CauseWaiting    = "waiting_for_human"
	// CauseAsked begins the cause of what an agent asks: a key of its own follows.
	CauseAsked = "asked:"
)

// ActionKind is what pressing a button does.
type ActionKind string

const (
	Resolve ActionKind = "resolve" // the brief is resolved, with the effect of the action
	Comment ActionKind = "comment" // asks for text, which becomes feedback
	Link    ActionKind = "link"    // opens an address; nothing happens on the server
)

// Action is a button.
type Action struct {
	Key   string     `json:"key"`
	Label string     `json:"label"`
	Kind  ActionKind `json:"kind"`
	URL   string     `json:"url,omitempty"`
}

// The buttons that the house itself offers. What each does is in docs/states.md, and decided by [EffectOf].
var (
	Approve     = Action{Key: "approve", Label: "Approve", Kind: Resolve}
	Confirm     = Action{Key: "approve", Label: "Confirm", Kind: Resolve} // on a task that goes on anyway
	Acknowledge = Action{Key: "acknowledge", Label: "Acknowledge", Kind: Resolve}
	Feedback    = Action{Key: "feedback", Label: "Give feedback", Kind: Comment}
	Retry       = Action{Key: "retry", Label: "Retry", Kind: Resolve}
	Ignore      = Action{Key: "ignore", Label: "Ignore", Kind: Resolve}
	Resume      = Action{Key: "resume", Label: "Resume", Kind: Resolve}
	RunOnce     = Action{Key: "run_once", Label: "Run once", Kind: Resolve}
	Edit        = Action{Key: "edit", Label: "Edit the task", Kind: Link}
	Raise       = Action{Key: "edit", Label: "Raise the limit", Kind: Link}
	Continue    = Action{Key: "continue", Label: "Continue", Kind: Resolve}
	Stop        = Action{Key: "stop", Label: "Stop the task", Kind: Resolve}
)

// EditURL is the dashboard's address of a task's editor.
func EditURL(identifier string) string { return "/tasks/" + identifier + "?edit=1" }

// At returns a link action with its address.
func (a Action) At(url string) Action {
	a.URL = url
	return a
}

// Artifact is something a brief points at.
type Artifact struct {
	Kind  string `json:"kind"` // "document" | "file"
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Draft is a brief that was decided on and not yet stored.
type Draft struct {
	Type      Type
	Priority  Priority
	Title     string
	Summary   string
	Cause     string
	Artifacts []Artifact
	Actions   []Action
}

// Brief is a card in somebody's inbox.
type Brief struct {
	ID, WorkspaceID              string
	Number                       int64
	TaskID, TopicID, OperationID *string
	AgentID                      *string
	Type                         Type
	Priority                     Priority
	Title, Summary, Cause        string
	Count                        int
	Artifacts                    []Artifact
	Actions                      []Action
	Receipts                     json.RawMessage
	AssigneeID                   *string
	DueAt, SnoozedUntil, ReadAt  *time.Time
	ResolvedAt                   *time.Time
	ResolvedAction               *string
	ResolvedComment              *string
	ResolvedBy                   *access.Actor
	RetryTickID                  *string
	Version                      int64
	CreatedAt, UpdatedAt         time.Time
}

// Open reports whether nobody has resolved the brief.
func (b Brief) Open() bool { return b.ResolvedAt == nil }

// Offers returns the action of that key, if the brief offers it.
func (b Brief) Offers(key string) (Action, bool) {
	for _, a := range b.Actions {
		if a.Key == key {
			return a, true
		}
	}
	return Action{}, false
}
