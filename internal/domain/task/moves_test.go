package task

import (
	"slices"
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
)

// legal is the table "from, to" of docs/states.md.
var legal = map[Status]string{
	Backlog:   "scheduled running paused completed canceled",
	Scheduled: "running paused completed backlog canceled",
	Running:   "scheduled paused completed failed canceled",
	Paused:    "scheduled running backlog completed failed canceled",
	Completed: "backlog scheduled running",
	Failed:    "backlog scheduled running",
	Canceled:  "backlog scheduled running",
}

func TestEveryPairOfStatusesIsLegalOrNot(t *testing.T) {
	pairs := 0
	for _, from := range Statuses {
		for _, to := range Statuses {
			pairs++
			want := slices.Contains(strings.Fields(legal[from]), string(to))
			tk := Task{ID: "1", Identifier: "T-1", Status: from}
			m, err := tk.Move(to, ByPerson, access.House)
			if (err == nil) != want {
				t.Errorf("%s to %s: %v, want legal=%v", from, to, err, want)
			}
			if err != nil && (errs.KindOf(err) != errs.Conflict || m != Move{}) {
				t.Errorf("%s to %s is refused with %v and the move %+v", from, to, err, m)
			}
			if err == nil && (m.From() != from || m.To() != to || m.Reason() != ByPerson || m.TaskID() != "1") {
				t.Errorf("%s to %s makes the move %+v", from, to, m)
			}
		}
	}
	if pairs != 49 {
		t.Errorf("%d pairs", pairs)
	}
}

func TestOnlyAnEndIsTerminal(t *testing.T) {
	for _, s := range Statuses {
		if want := s == Completed || s == Failed || s == Canceled; s.Terminal() != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}

func TestWhoAcceptsTheWork(t *testing.T) {
	for _, c := range []struct {
		by   access.ActorKind
		set  Acceptance
		want Acceptance
	}{
		{access.Person, "", Review},
		{access.Token, "", Review},
		{access.System, "", Review},
		{access.Agent, "", Auto},
		{access.Person, Auto, Auto},
		{access.Agent, Review, Review},
	} {
		tk := Task{CreatedBy: access.Actor{Kind: c.by}, Config: Config{Acceptance: c.set}}
		if got := tk.Acceptance(); got != c.want {
			t.Errorf("created by %s, configured %q: %s, want %s", c.by, c.set, got, c.want)
		}
	}
}

func TestADaysBudgetIsSpent(t *testing.T) {
	usd := func(n budget.USD) *budget.USD { return &n }
	for _, c := range []struct {
		name   string
		a      Allowance
		cost   *budget.USD
		tokens int64
		secs   int
		spent  bool
	}{
		{"no limit", Allowance{}, usd(99), 99, 99, false},
		{"money under it", Allowance{USD: usd(10)}, usd(9), 0, 0, false},
		{"money at it", Allowance{USD: usd(10)}, usd(10), 0, 0, true},
		{"money that is not known counts as nothing", Allowance{USD: usd(10)}, nil, 0, 0, false},
		{"a budget of nothing is spent at once", Allowance{USD: usd(0)}, usd(0), 0, 0, true},
		{"tokens still bite when money is not known", Allowance{USD: usd(10), Tokens: 5}, nil, 5, 0, true},
		{"minutes are told in seconds", Allowance{Minutes: 1}, nil, 0, 59, false},
		{"minutes at it", Allowance{Minutes: 1}, nil, 0, 60, true},
	} {
		if got := c.a.Spent(c.cost, c.tokens, c.secs); (got != "") != c.spent {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
