package cli

import (
	"net/url"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/cli/client"
)

// quietParams say when nothing begins.
var quietParams = []param{
	{"quiet-hours", "quietHours.hours", theHours, "begin no run in these hours, such as 22:00-07:00; empty for none"},
	{"quiet-days", "quietHours.days", theDays, "the days on which they begin, such as mon-fri (default: every day)"},
	{"quiet-zone", "quietHours.timezone", aText, "their time zone, such as Europe/Berlin (default: the workspace's)"},
}

var workspaceParams = []param{
	{"name", "name", aText, "what people see"},
	{"timezone", "timezone", aText, "time zone of schedules and days that name none, such as Europe/Berlin"},
	{"read-only", "readOnly", aSwitch, "agents may call no tool that changes something"},
}

var agentParams = []param{
	{"name", "name", aText, "what people see"},
	{"description", "description", aText, "what it is for; empty for nothing"},
	{"model", "profile.model", aText, "provider/model; empty for the instance's default"},
	{"max-steps", "profile.limits.steps", aCount, "most steps of a run"},
	{"max-time", "profile.limits.seconds", aDuration, "longest that a run may take, such as 30m"},
	{"max-tokens", "profile.limits.tokens", aCount, "most tokens of a run"},
	{"budget-run", "profile.limits.usd", aNumber, "most USD of a run"},
}

func (p *program) workspaceEdit() *cobra.Command {
	c := &cobra.Command{
		Use: "edit", Short: "Change what holds for the workspace: quiet hours, read-only, time zone, name",
		Example: "  dogwatch workspace edit --quiet-hours 22:00-07:00 --quiet-days mon-fri\n" +
			"  dogwatch workspace edit --quiet-hours \"\" --read-only false", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.editPolicy(cmd, "/workspace", "the workspace", "dogwatch workspace show")
		},
	}
	params(c.Flags(), workspaceParams, quietParams)
	return c
}

func (p *program) agentEdit() *cobra.Command {
	c := &cobra.Command{
		Use: "edit AGENT", Short: "Change an agent: quiet hours, model, limits of a run, name",
		Example: "  dogwatch agent edit watchkeeper --quiet-hours 22:00-07:00 --quiet-zone Europe/Berlin\n" +
			"  dogwatch agent edit watchkeeper --model \"\" --max-time 30m --budget-run 0.20", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.editPolicy(cmd, "/agents/"+url.PathEscape(args[0]), args[0], "dogwatch agent list")
		},
	}
	params(c.Flags(), agentParams, quietParams)
	return c
}

// editPolicy changes a workspace or an agent. Quiet hours and a profile are set as
// a whole, so what the flags leave out comes from what was read, and the version
// says that it is still so.
func (p *program) editPolicy(cmd *cobra.Command, path, what, look string) error {
	patch, err := typed(cmd, "", p.zone, true)
	if err != nil {
		return err
	}
	if len(patch) == 0 {
		return usagef("say what to change, such as --quiet-hours 22:00-07:00; %s --help lists it all", cmd.CommandPath())
	}
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	was, err := readPolicy(cmd, c, path)
	if err != nil {
		return err
	}
	if quiet, ok := patch["quietHours"].(map[string]any); ok {
		if patch["quietHours"], err = quietHours(quiet, was["quietHours"]); err != nil {
			return err
		}
	}
	if profile, ok := patch["profile"].(map[string]any); ok {
		old, _ := was["profile"].(map[string]any)
		patch["profile"] = merged(old, profile)
	}
	patch["version"] = was["version"]
	answer, err := c.Patch(cmd.Context(), path, patch)
	if err != nil {
		return staleIn(err, what, look)
	}
	if p.json {
		return p.raw(answer)
	}
	now, err := read[struct {
		QuietHours *quiet `json:"quietHours"`
		ReadOnly   bool   `json:"readOnly"`
	}](answer)
	if err != nil {
		return err
	}
	p.printf("✓ %s changed", what)
	if now.QuietHours != nil {
		p.printf(" · quiet hours %s", now.QuietHours)
	}
	if now.ReadOnly {
		p.printf(" · read-only: agents may change nothing")
	}
	p.printf("\n")
	return nil
}

func readPolicy(cmd *cobra.Command, c *client.Client, path string) (map[string]any, error) {
	answer, err := c.Get(cmd.Context(), path, nil)
	if err != nil {
		return nil, err
	}
	return read[map[string]any](answer)
}

// quietHours are the quiet hours that the flags make of the old ones; nil for none.
func quietHours(flags map[string]any, old any) (any, error) {
	hours, named := flags["hours"]
	delete(flags, "hours")
	if named && hours == nil {
		if len(flags) > 0 {
			return nil, usagef("an empty --quiet-hours takes them away; leave out --quiet-days and --quiet-zone")
		}
		return nil, nil
	}
	was, _ := old.(map[string]any)
	if !named && was == nil {
		return nil, usagef("there are no quiet hours yet; say which, such as --quiet-hours 22:00-07:00")
	}
	now := merged(was, flags)
	if h, ok := hours.(map[string]any); ok {
		now = merged(now, h)
	}
	return now, nil
}
