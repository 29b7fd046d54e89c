package task

// Reason is a stable word that says why: it is stored, counted as the label of a
// metric, and shown to people as it stands.
type Reason string

// Reasons of a task's status.
const (
	Created           Reason = "created"
	Armed             Reason = "armed"
	Launched          Reason = "launched"
	AwaitingReview    Reason = "awaiting_review"
	RunFailed         Reason = "run_failed"
	Interrupted       Reason = "interrupted"
	Fuse              Reason = "fuse"
	NoProgress        Reason = "no_progress"
	OverBudget        Reason = "budget"
	BoundsUsedUp      Reason = "bounds_used_up"
	Approved          Reason = "approved"
	CheckpointBefore  Reason = "checkpoint_before"
	CheckpointAfter   Reason = "checkpoint_after"
	CheckpointAsked   Reason = "checkpoint_requested"
	ByPerson          Reason = "person"
	ByAgent           Reason = "agent_request"
	Reopened          Reason = "reopened"
	RanOn             Reason = "done"       // a repeating task after a good run
	RanOnPartial      Reason = "max_steps"  // after one that stopped at its limit
	RanOnOverBudget   Reason = "cost_limit" // after one that stopped at its budget
	AutomationRemoved Reason = "canceled_by_edit"
)

// Reasons of the gate, in its order: see [Admit].
const (
	NotFound           Reason = "not_found"
	Deleted            Reason = "deleted"
	Ended              Reason = "terminal"
	ModeChanged        Reason = "mode_changed"
	RevisionChanged    Reason = "revision_changed"
	NoInterval         Reason = "no_interval"
	NoPattern          Reason = "no_pattern"
	IsPaused           Reason = "paused"
	WorkspacePaused    Reason = "workspace_paused"
	Maintenance        Reason = "maintenance"
	AgentPaused        Reason = "agent_paused"
	NoAgent            Reason = "no_agent"
	OutsideBounds      Reason = "outside_bounds"
	MaxExecutions      Reason = "max_executions"
	MaxTopics          Reason = "max_topics"
	ExcludedDate       Reason = "excluded_date"
	OutsideActiveHours Reason = "outside_active_hours"
	DailyLimit         Reason = "daily_limit"
	Blocked            Reason = "blocked_by_dependency"
	AtCheckpoint       Reason = "checkpoint"
	InFlight           Reason = "in_flight"
	WaitingForHuman    Reason = "waiting_for_human"
	Concurrency        Reason = "concurrency"
	DeviceOffline      Reason = "device_offline"
)

// Ends of planned times without a run.
const (
	CatchUpExpired   Reason = "catch_up_expired"
	Coalesced        Reason = "coalesced"
	PolicySkip       Reason = "policy_skip"
	CanceledByEdit   Reason = "canceled_by_edit"
	CanceledByPerson Reason = "canceled_by_person"
)
