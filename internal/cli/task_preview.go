package cli

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"
)

// previewParams say what is looked at; the order itself has the flags of create.
var previewParams = []param{
	{"agent", "agent", aText, "who would run it: its quiet hours count as well"},
	{"from", "from", aTime, `from this time on: "2026-05-01 07:00" or RFC 3339 (default: now)`},
	{"count", "count", aCount, "so many times, at most 100 (default 5)"},
}

func (p *program) taskPreview() *cobra.Command {
	c := &cobra.Command{
		Use: "preview [TASK]", Short: "Show when a schedule would fire, before it is saved, or when a task will",
		Long: `Show the next times of a schedule in its own zone, what a clock change does to them, and which will not run and
why. With a task: its schedule, as these flags would change it. Nothing is saved.`,
		Example: `  dogwatch task preview --cron "30 2 * * *" --zone Europe/Berlin --from 2027-03-26 --count 4
  dogwatch task preview T-1 --active-days mon-fri`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			var was editedTask
			if len(args) == 1 {
				answer, err := c.Get(cmd.Context(), taskPath(args[0]), nil)
				if err != nil {
					return err
				}
				if was, err = read[editedTask](answer); err != nil {
					return err
				}
				delete(was.Automation, "nextFires")
			}
			body, err := p.editBody(cmd, was, false)
			if err != nil {
				return err
			}
			order, _ := body["automation"].(map[string]any)
			if order["mode"] == nil {
				order = merged(was.Automation, order)
			}
			if order["mode"] == nil {
				return usagef(`there is no schedule to preview; give one, such as --cron "0 7 * * 1-5", or a task that has one`)
			}
			body["automation"] = order
			if body["agent"] == nil && was.AssigneeAgent != "" {
				body["agent"] = was.AssigneeAgent
			}
			answer, err := c.Post(cmd.Context(), "/schedules/preview", body)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			v, err := read[struct {
				Automation automation `json:"automation"`
				Items      []struct {
					Local  time.Time `json:"local"`
					Offset string    `json:"offset"`
					Note   string    `json:"note"`
					Reason string    `json:"reason"`
				} `json:"items"`
				Days []struct {
					Date string `json:"date"`
					From string `json:"from"`
					To   string `json:"to"`
					Lost int    `json:"lost"`
				} `json:"days"`
			}](answer)
			if err != nil {
				return err
			}
			if len(v.Items) == 0 {
				p.note("It never fires.")
				return nil
			}
			p.printf("%s\n", v.Automation.order())
			var rows [][]string
			for _, f := range v.Items {
				layout := "Mon 2006-01-02 15:04"
				if f.Local.Second() != 0 {
					layout += ":05"
				}
				said := cmp.Or(fireNotes[f.Note], f.Note)
				if f.Reason != "" {
					said = "will not run: " + cmp.Or(refusals[f.Reason], f.Reason)
				}
				rows = append(rows, []string{f.Local.Format(layout), f.Offset, said})
			}
			if err := p.table([]string{"TIME", "OFFSET", "NOTE"}, rows); err != nil {
				return err
			}
			for _, d := range v.Days {
				p.printf("On %s the clocks skip from %s to %s: %s fewer.\n", d.Date, d.From, d.To, plural(d.Lost, "time"))
			}
			return nil
		},
	}
	params(c.Flags(), orderParams, policyParams, previewParams)
	return c
}

// fireNotes are the API's words on a planned time, as sentences.
var fireNotes = map[string]string{
	"gap":           "the clocks skip its time; it comes when they go on",
	"first_of_two":  "its time comes twice that day; this is the first",
	"second_of_two": "its time comes twice that day; this is the second",
	"earliest":      "at the earliest: it counts from the end of the run before",
}

// refusals say why a schedule's own time will not run.
var refusals = map[string]string{
	"outside_bounds":       "it is before the schedule's start or after its end",
	"max_executions":       "the schedule has had all its runs by then",
	"excluded_date":        "the date is excluded, by the schedule or a calendar",
	"outside_active_hours": "it is outside the active days and hours, or in quiet hours",
	"daily_limit":          "the day has had all its runs by then",
}

// merged is a document after a merge patch (RFC 7396).
func merged(doc, patch map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range doc {
		out[k] = v
	}
	for k, v := range patch {
		inner, isDoc := v.(map[string]any)
		switch {
		case v == nil:
			delete(out, k)
		case isDoc:
			was, _ := out[k].(map[string]any)
			out[k] = merged(was, inner)
		default:
			out[k] = v
		}
	}
	return out
}
