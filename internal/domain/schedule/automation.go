package schedule

import "time"

// Mode says what makes the times of a task.
type Mode string

const (
	Heartbeat Mode = "heartbeat" // an interval after the end of the last run
	Schedule  Mode = "schedule"  // a cron pattern in a zone
	Every     Mode = "every"     // a fixed grid in absolute time
	Once      Mode = "once"      // the one time of a task with startAt; never in an Automation
)

// Overlap says what becomes of a fire while a run is in flight. The gate applies it.
const (
	OverlapSkip   = "skip"
	OverlapQueue  = "queue"
	OverlapCancel = "cancel"
)

// Missed says what becomes of fires that nobody dispatched in time, see Plan.
const (
	MissedLatest = "latest"
	MissedSkip   = "skip"
	MissedAll    = "all"
)

// Automation is what the API calls automation: when a task runs by itself. What
// people send goes through Canonical, what is stored is canonical. Optional numbers
// are absent at zero, except where zero is a choice of its own.
type Automation struct {
	Mode Mode `json:"mode"`

	IntervalSeconds int64 `json:"intervalSeconds,omitempty"` // heartbeat
	MinSeconds      int64 `json:"minSeconds,omitempty"`      // heartbeat: the agent's own proposal counts from here; absent = the interval
	MaxSeconds      int64 `json:"maxSeconds,omitempty"`      // heartbeat: and up to here; absent = the interval

	Pattern  string  `json:"pattern,omitempty"`  // schedule
	Timezone *string `json:"timezone,omitempty"` // every mode; absent asks for the default, "" is refused, canonical has one

	EverySeconds int64      `json:"everySeconds,omitempty"` // every
	Anchor       *time.Time `json:"anchor,omitempty"`       // every: a point of the grid

	Overlap        string     `json:"overlap,omitempty"`
	Missed         string     `json:"missed,omitempty"`
	CatchUpSeconds *int64     `json:"catchUpSeconds,omitempty"` // absent = by the pattern, 0 = catch nothing up
	JitterSeconds  int64      `json:"jitterSeconds,omitempty"`
	MaxExecutions  int        `json:"maxExecutions,omitempty"` // 0 = no limit
	StartsAt       *time.Time `json:"startsAt,omitempty"`      // included
	EndsAt         *time.Time `json:"endsAt,omitempty"`        // included
	TimeoutSeconds int64      `json:"timeoutSeconds,omitempty"`

	Conditions *Conditions `json:"conditions,omitempty"`
	Exclusions *Exclusions `json:"exclusions,omitempty"`
}

// Conditions restrict the week and the day; they are judged in the timezone.
type Conditions struct {
	ActiveDays          []int  `json:"activeDays,omitempty"` // 0 = Sunday; none = every day
	ActiveHours         *Hours `json:"activeHours,omitempty"`
	MaxExecutionsPerDay int    `json:"maxExecutionsPerDay,omitempty"` // 0 = no limit
}

// Hours is a span of the wall clock, HH:MM, the end excluded. A span across
// midnight belongs to the day on which it begins; equal ends are the whole day.
type Hours struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// Exclusions are local dates on which nothing runs.
type Exclusions struct {
	Dates     []string    `json:"dates,omitempty"` // 2026-12-25
	Ranges    []DateRange `json:"ranges,omitempty"`
	Calendars []string    `json:"calendars,omitempty"` // names of stored calendars, whose dates the caller hands in
}

// DateRange is a range of local dates, both included.
type DateRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Codes of refused input, as the API gives them.
const (
	CodePattern  = "invalid_pattern"
	CodeTimezone = "invalid_timezone"
	CodeInvalid  = "invalid"
)

// Bounds of what may be asked for.
const (
	// maxPeriod is ten years: a longer period is a slip of the keyboard.
	maxPeriod = 10 * 366 * daySeconds
	// maxCatchUp lets a monthly task be caught up, and bounds how many missed
	// times are judged one by one after a long downtime.
	maxCatchUp = 31 * daySeconds
	// maxJitter spreads over a day; half the gap to the next fire caps it anyway.
	maxJitter = daySeconds
	// maxTimeout: no progress for a month is no progress.
	maxTimeout = 31 * daySeconds
	// Lists that are longer belong into a calendar.
	maxDates, maxRanges, maxCalendars = 366, 100, 20
)
